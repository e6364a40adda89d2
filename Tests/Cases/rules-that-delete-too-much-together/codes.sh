# For what each rule is refused.
retention run --dry-run --json --as-of 2025-11-21 "$@" 2>log | python3 -c "
import json, sys
for rule in json.load(sys.stdin)['rules']: print(rule['name'], rule['refusal'] or rule['outcome'], rule['expired'])"
