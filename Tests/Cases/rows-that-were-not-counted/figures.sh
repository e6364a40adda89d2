for c in 'run --dry-run' run log; do
    retention $c -c $1 --json 2>/dev/null |
        grep -e '"mode"' -e '"refusal"' -e '"expired"' -e '"residue"' -e '"overdue_seconds"' -e '"newest_expired"' | tr -d ' \n'
    echo
done
retention log --verify -c $1 | head -n 1
grep -v '^#' figures.prom | grep -e residue_rows -e expired_rows -e overdue_seconds | sed 's/{.*rule=/{rule=/'
rm retention.ledger.sqlite figures.prom
