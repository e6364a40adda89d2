# What a run, or a dry run, does for each rule: its figures that are not zero.
retention run --json --as-of 2025-11-21 "$@" 2>log | python3 -c "
import json, sys
for rule in json.load(sys.stdin)['rules']:
    figures = ['expired', 'deleted', 'cascaded', 'nullified']
    print(rule['name'], rule['refusal'] or rule['outcome'], *(f'{name} {rule[name]}' for name in figures if rule[name]))"
