#ifndef CBATONSQLITE_H
#define CBATONSQLITE_H

/// Sets up SQLite for this process: no count of every allocation, which takes a lock each time, and room for a
/// statement's small allocations beside the heap. To be called before the first connection; answers what SQLite says
/// (SQLITE_MISUSE if it was too late, which harms nothing). `sqlite3_config` takes a variable number of arguments, so
/// that Swift cannot call it.
int baton_sqlite_configure(void);

#endif
