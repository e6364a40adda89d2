# What a run, or a dry run, does for each rule.
retention run --json --as-of 2025-11-21 "$@" 2>log | python3 -c "
import json, sys
for rule in json.load(sys.stdin)['rules']: print(rule['name'], rule['refusal'] or rule['outcome'], rule['method'], rule['expired'], rule['deleted'], rule['residue'])"
