# What a run, or a dry run, does for each rule: its figures that are not zero, and the dates of its oldest and newest expired rows.
retention run --json --as-of 2025-04-01 "$@" 2>log | python3 -c "
import json, sys
report = json.load(sys.stdin)
for rule in report['rules']:
    figures = [f'{name} {rule[name]}' for name in ['expired', 'deleted', 'cascaded', 'nullified', 'kept_by_rule', 'unreadable', 'residue'] if rule[name]]
    print(rule['name'], rule['refusal'] or rule['outcome'], *figures, rule['oldest'], rule['newest_expired'])
print('all', *report['totals'].values(), 'exit', report['exit_code'])"
