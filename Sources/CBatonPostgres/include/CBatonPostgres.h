#ifndef CBATONPOSTGRES_H
#define CBATONPOSTGRES_H

#include <stddef.h>

// libpq, as far as Baton uses it. The library is loaded when a program connects to PostgreSQL for the first time, so
// that a program which keeps its store in SQLite does not need libpq and the 20 libraries behind it. The prototypes
// below stand for those of libpq-fe.h, so that building Baton does not need libpq either. They describe the binary
// interface of libpq.so.5, to which PostgreSQL only adds functions; those of pipeline mode came with PostgreSQL 14.

#pragma clang assume_nonnull begin

typedef struct baton_pq_connection baton_pq_connection;
typedef struct baton_pq_result baton_pq_result;

/// PQconninfoOption: one parameter of a connection string. `val` is NULL if the string does not set it.
typedef struct {
  const char *_Nullable keyword;
  const char *_Nullable envvar;
  const char *_Nullable compiled;
  const char *_Nullable val;
  const char *_Nullable label;
  const char *_Nullable dispchar;
  int dispsize;
} baton_pq_option;

/// PGnotify: a message of NOTIFY.
typedef struct {
  const char *relname;
  int be_pid;
  const char *extra;
  void *_Nullable next;
} baton_pq_notification;

typedef void (*baton_pq_notice_receiver)(void *_Nullable context, const baton_pq_result *result);

// Values of libpq's enumerations.
#define BATON_PQ_CONNECTION_OK 0
#define BATON_PQ_CONNECTION_BAD 1

#define BATON_PQ_POLLING_FAILED 0
#define BATON_PQ_POLLING_READING 1
#define BATON_PQ_POLLING_WRITING 2
#define BATON_PQ_POLLING_OK 3

#define BATON_PQ_EMPTY_QUERY 0
#define BATON_PQ_COMMAND_OK 1
#define BATON_PQ_TUPLES_OK 2
#define BATON_PQ_FATAL_ERROR 7
#define BATON_PQ_PIPELINE_SYNC 10
#define BATON_PQ_PIPELINE_ABORTED 11

#define BATON_PQ_TRANSACTION_IDLE 0
#define BATON_PQ_TRANSACTION_ACTIVE 1
#define BATON_PQ_TRANSACTION_OPEN 2
#define BATON_PQ_TRANSACTION_FAILED 3

#define BATON_PQ_ERRORS_DEFAULT 1
#define BATON_PQ_ERRORS_VERBOSE 2

// The fields of an error, which libpq names by the characters V, C, M and n. Swift does not see a macro that is a
// character. The severity is the one that is never translated.
#define BATON_PQ_SEVERITY 86
#define BATON_PQ_SQLSTATE 67
#define BATON_PQ_MESSAGE 77
#define BATON_PQ_CONSTRAINT 110

/// The functions of libpq. Each field has the name of the function that it calls.
typedef struct {
  int (*_Nonnull PQlibVersion)(void);
  int (*_Nonnull PQisthreadsafe)(void);

  baton_pq_option *_Nullable (*_Nonnull PQconninfoParse)(const char *text, char *_Nullable *_Nonnull error);
  void (*_Nonnull PQconninfoFree)(baton_pq_option *_Nullable options);
  void (*_Nonnull PQfreemem)(void *_Nullable memory);

  baton_pq_connection *_Nullable (*_Nonnull PQconnectStartParams)(
      const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values,
      int expand_dbname);
  int (*_Nonnull PQconnectPoll)(baton_pq_connection *connection);
  int (*_Nonnull PQconnectionNeedsPassword)(const baton_pq_connection *connection);
  void (*_Nonnull PQfinish)(baton_pq_connection *_Nullable connection);
  int (*_Nonnull PQstatus)(const baton_pq_connection *connection);
  int (*_Nonnull PQsocket)(const baton_pq_connection *connection);
  const char *_Nullable (*_Nonnull PQerrorMessage)(const baton_pq_connection *connection);
  int (*_Nonnull PQsetErrorVerbosity)(baton_pq_connection *connection, int verbosity);
  baton_pq_notice_receiver _Nullable (*_Nonnull PQsetNoticeReceiver)(
      baton_pq_connection *connection, baton_pq_notice_receiver receiver, void *_Nullable context);
  int (*_Nonnull PQsetnonblocking)(baton_pq_connection *connection, int nonblocking);

  int (*_Nonnull PQtransactionStatus)(const baton_pq_connection *connection);
  const char *_Nullable (*_Nonnull PQparameterStatus)(const baton_pq_connection *connection, const char *name);
  int (*_Nonnull PQserverVersion)(const baton_pq_connection *connection);
  int (*_Nonnull PQbackendPID)(const baton_pq_connection *connection);
  const char *_Nullable (*_Nonnull PQhost)(const baton_pq_connection *connection);
  const char *_Nullable (*_Nonnull PQport)(const baton_pq_connection *connection);
  int (*_Nonnull PQsslInUse)(baton_pq_connection *connection);

  int (*_Nonnull PQenterPipelineMode)(baton_pq_connection *connection);
  int (*_Nonnull PQexitPipelineMode)(baton_pq_connection *connection);
  int (*_Nonnull PQpipelineSync)(baton_pq_connection *connection);
  int (*_Nonnull PQsendQuery)(baton_pq_connection *connection, const char *sql);
  int (*_Nonnull PQsendPrepare)(
      baton_pq_connection *connection, const char *name, const char *sql, int count,
      const unsigned int *_Nullable types);
  int (*_Nonnull PQsendQueryParams)(
      baton_pq_connection *connection, const char *sql, int count, const unsigned int *_Nullable types,
      const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats,
      int result_format);
  int (*_Nonnull PQsendQueryPrepared)(
      baton_pq_connection *connection, const char *name, int count, const char *_Nullable const *_Nullable values,
      const int *_Nullable lengths, const int *_Nullable formats, int result_format);
  int (*_Nonnull PQflush)(baton_pq_connection *connection);
  int (*_Nonnull PQconsumeInput)(baton_pq_connection *connection);
  int (*_Nonnull PQisBusy)(baton_pq_connection *connection);
  baton_pq_result *_Nullable (*_Nonnull PQgetResult)(baton_pq_connection *connection);
  baton_pq_notification *_Nullable (*_Nonnull PQnotifies)(baton_pq_connection *connection);

  int (*_Nonnull PQresultStatus)(const baton_pq_result *result);
  const char *_Nullable (*_Nonnull PQresultErrorField)(const baton_pq_result *result, int field);
  const char *_Nullable (*_Nonnull PQresultErrorMessage)(const baton_pq_result *result);
  int (*_Nonnull PQntuples)(const baton_pq_result *result);
  int (*_Nonnull PQnfields)(const baton_pq_result *result);
  const char *_Nullable (*_Nonnull PQfname)(const baton_pq_result *result, int column);
  unsigned int (*_Nonnull PQftype)(const baton_pq_result *result, int column);
  const char *_Nullable (*_Nonnull PQgetvalue)(const baton_pq_result *result, int row, int column);
  int (*_Nonnull PQgetlength)(const baton_pq_result *result, int row, int column);
  int (*_Nonnull PQgetisnull)(const baton_pq_result *result, int row, int column);
  const char *_Nullable (*_Nonnull PQcmdTuples)(const baton_pq_result *result);
  void (*_Nonnull PQclear)(baton_pq_result *_Nullable result);
} baton_pq;

/// Loads libpq under its usual names, once per process: the first call loads it, and every other call gives the same
/// answer. It may be called by several threads at once. Returns NULL if libpq cannot be used; then `error` is a text
/// that says what is missing and what to do. Both pointers stay valid until the process ends.
const baton_pq *_Nullable baton_pq_load(const char *_Nullable *_Nonnull error);

/// Loads the library of this name and fills in `functions`. Returns 0, or -1 with a text in `error`, which is a buffer
/// of `size` bytes. A library that was loaded is never unloaded.
int baton_pq_open(const char *name, baton_pq *functions, char *error, size_t size);

// What `baton_pq_wait` waits for, and what it answers.
#define BATON_PQ_READABLE 1
#define BATON_PQ_WRITABLE 2

/// Waits until the socket is readable or writable (`events`), or has an error, which counts as both, with poll(2).
/// Returns the events, 0 if `milliseconds` have passed, or a negative errno. A signal does not end the wait for the
/// caller, but returns 0 early.
int baton_pq_wait(int socket, int events, int milliseconds);

/// Starts a detached thread that calls `body` with `context`. Its stack has 4 MiB, because the default is 512 KiB on
/// macOS and 128 KiB with musl. All signals are blocked in it, so that the program's signal handlers run elsewhere.
/// Debuggers show the first 15 bytes of `name`. Returns 0, or an errno.
int baton_pq_start_thread(const char *name, void (*body)(void *context), void *context);

/// A counting semaphore. (Unnamed POSIX semaphores do not exist on macOS.)
typedef struct baton_pq_gate baton_pq_gate;

/// Returns NULL if there is no memory.
baton_pq_gate *_Nullable baton_pq_gate_make(void);
/// Lets one thread pass: the one that waits, or the next one that comes.
void baton_pq_gate_open(baton_pq_gate *gate);
/// Waits until the gate has been opened once more often than threads have passed.
void baton_pq_gate_pass(baton_pq_gate *gate);
void baton_pq_gate_free(baton_pq_gate *gate);

#pragma clang assume_nonnull end

#endif
