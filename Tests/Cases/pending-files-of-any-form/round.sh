# round.sh LINE: a pending file of one line, and a run that takes it.
printf 'updateTime\n%s\n' "$1" >pending/a.csv
retention run 2>log | grep pending
