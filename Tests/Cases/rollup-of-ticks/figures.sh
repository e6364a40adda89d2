# What a run does for each rule that makes candles: its figures, and how many candles.
retention run --json "$@" 2>log | python3 -c "
import json, sys
for rule in json.load(sys.stdin)['rules']:
    print(rule['name'], rule['refusal'] or rule['outcome'], rule['cutoff'], *(f'{name} {rule[name]}' for name in ['expired', 'deleted', 'unpriced', 'candles_created', 'candles_changed', 'residue']))"
