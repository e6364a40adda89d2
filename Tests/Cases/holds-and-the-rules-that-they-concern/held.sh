# held.sh HOLD RULE…: what a dry run says of these rules in this order under one hold, and what the check says of the hold.
hold=$1; shift
{ printf 'version: 1\nstore: prices.sqlite\nledger: none\ndefaults: { date_format: unix_seconds }\nholds: [{ name: audit, %s, reason: an audit }]\nrules:\n' "$hold"
  for rule; do grep "name: $rule," rules; done; } >held.yaml
retention run --dry-run --json --as-of 2025-11-21 -c held.yaml 2>log | python3 -c "
import json, sys
for rule in json.load(sys.stdin)['rules']: print(rule['name'], rule['refusal'] or rule['outcome'])"
retention check --as-of 2025-11-21 -c held.yaml | sed -n '/hold/s/^held.yaml:[0-9:]* //p'
