# left.sh FOLDER: how many rows before the cutoff are left, how many of them are bad, of how many days and symbols they are, and how many lie before day 40.
python3 -c "
import sqlite3, sys
print(*sqlite3.connect(sys.argv[1] + '/prices.sqlite').execute('''SELECT count(*), sum(flag = 'bad'), count(DISTINCT symbol || (at / 86400)),
    sum(at < unixepoch('2025-11-21') - 40 * 86400) FROM price WHERE at < unixepoch('2025-11-21') - 30 * 86400''').fetchone())" "$1"
