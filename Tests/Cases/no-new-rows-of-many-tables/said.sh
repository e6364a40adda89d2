# said.sh COMMAND…: the tables of which the command says that they have had no new rows.
retention "$@" 2>log | tr -s '\n ' ' ' | grep -o -e 'the newest row of [a-z0-9]* is dated' -e '[a-z0-9]* (newest ' | sed 's/the newest row of //; s/ is dated//; s/ (newest //' | sort -u | paste -s -d ' '
