#ifndef RETENTION_SQLITE_CONFIG_H
#define RETENTION_SQLITE_CONFIG_H

struct sqlite3;
int sqlite3_db_config(struct sqlite3 *, int, ...);

/// Switches the triggers of the files of a connection on or off; its temporary triggers stay on, and foreign keys act.
/// Swift cannot call a variadic function. 1003 is SQLITE_DBCONFIG_ENABLE_TRIGGER.
/// Returns a result code. Source: sqlite.org/c3ref/c_dbconfig_defensive.html.
static inline int retention_enable_triggers(struct sqlite3 *db, int isOn) {
    return sqlite3_db_config(db, 1003, isOn, (int *)0);
}

#endif
