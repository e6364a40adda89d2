for c in check 'run --dry-run' run 'report --html -'; do retention $c -c "${2:-retention.yaml}" 2>/dev/null | tr -s ' \n' ' ' | grep -o -e "$1" | wc -l; done | tr '\n' ' '
