# Spoils the store, and shows what check, a dry run and a run say, and which lock the run leaves.
cp kept.sqlite prices.sqlite; eval "$1" 2>/dev/null; [ -f prices.sqlite ] && cp prices.sqlite before
for c in check 'run --dry-run' run; do retention $c >out 2>&1; echo "$? $(tr -s ' \n' ' ' <out | grep -o -e "$2" | head -n 1)"; done
[ -f prices.sqlite ] && cmp prices.sqlite before; ls *.retention-lock 2>/dev/null; rm -rf prices.sqlite *.retention-lock
