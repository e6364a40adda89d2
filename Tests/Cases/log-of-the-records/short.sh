# The outcome of each run, and its rules.
retention log --json "$@" | python3 -c "import json, sys; [print(r['outcome'], ', '.join(f\"{x['name']} {x['deleted']}\" for x in r['rules'])) for r in json.load(sys.stdin)['runs']]"
