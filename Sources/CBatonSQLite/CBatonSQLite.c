#include "CBatonSQLite.h"

#include <sqlite3.h>

// Bytes of one slot (SQLite's own default), and slots of one connection.
enum { slotSize = 1200, slotCount = 400 };

int baton_sqlite_configure(void) {
  int status = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  return status == SQLITE_OK ? sqlite3_config(SQLITE_CONFIG_LOOKASIDE, slotSize, slotCount) : status;
}
