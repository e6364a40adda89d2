# rules.sh NAME…: a store, a policy and a ledger of their own for these rules, in this order. Then the dry run and the run.
mkdir "$*"; cp prices.sqlite "$*"
{ printf 'version: 1\nstore: prices.sqlite\ndefaults: { date_format: unix_seconds }\nrules:\n'; for rule; do grep "name: $rule," rules; done; } >"$*/retention.yaml"
cd "$*"; retention run --dry-run --as-of 2025-11-21 2>log | tail -n 1
retention run --as-of 2025-11-21 2>log | tail -n 1
retention run --as-of 2025-11-21 2>log | tail -n 1
