import Foundation
import GRDBSQLite

/// What the machine achieves without Baton, measured with SQLite's C API and system calls. Each result is compared to
/// one of these limits.
enum Limits {
  /// Jobs per second that are inserted, claimed and finished, `perCommit` of them in each commit, with an index and
  /// with the durability of Baton's store.
  static func jobLives(_ count: Int, perCommit: Int) throws -> Double {
    let database = try RawDatabase()
    defer { database.close() }
    database.execute(
      """
      CREATE TABLE job (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, owner TEXT, payload BLOB NOT NULL);
      CREATE INDEX ready ON job (state, id) WHERE state = 0
      """)
    let insert = database.prepare("INSERT INTO job (state, payload) VALUES (0, zeroblob(100))")
    let claim = database.prepare(
      "UPDATE job SET state = 1, owner = 'w' WHERE id = (SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1)")
    let finish = database.prepare("UPDATE job SET state = 2 WHERE id = ?")
    let start = Date()
    for (statement, binds) in [(insert, false), (claim, false), (finish, true)] {
      for first in stride(from: 1, through: count, by: perCommit) {
        database.execute("BEGIN IMMEDIATE")
        for id in first..<min(first + perCommit, count + 1) {
          if binds { sqlite3_bind_int64(statement, 1, Int64(id)) }
          database.step(statement)
        }
        database.execute("COMMIT")
      }
    }
    return Double(count) / -start.timeIntervalSinceNow
  }

  /// Processes of `/bin/true` per second, with `width` threads that start them.
  static func spawns(_ count: Int, atOnce width: Int) async throws -> Double {
    let start = Date()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          await onThread { for _ in 0..<count / width { spawn() } }
        }
      }
    }
    return Double(count) / -start.timeIntervalSinceNow
  }

  private static func onThread(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      Thread {
        body()
        continuation.resume()
      }.start()
    }
  }

  private static func spawn() {
    var pid: pid_t = 0
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/true"), nil]
    defer { free(arguments[0]) }
    guard posix_spawn(&pid, "/bin/true", nil, nil, arguments, nil) == 0 else { return }
    waitpid(pid, nil, 0)
  }

  /// Checkpoints of 256 bytes per second, `perCommit` of them in each commit.
  static func checkpoints(_ count: Int, perCommit: Int) throws -> Double {
    let database = try RawDatabase()
    defer { database.close() }
    database.execute("CREATE TABLE job (id INTEGER PRIMARY KEY, cursor BLOB)")
    let insert = database.prepare("INSERT INTO job (cursor) VALUES (zeroblob(256))")
    database.execute("BEGIN")
    for _ in 0..<1000 { database.step(insert) }
    database.execute("COMMIT")
    let update = database.prepare("UPDATE job SET cursor = randomblob(256) WHERE id = ?")
    let start = Date()
    for first in stride(from: 0, to: count, by: perCommit) {
      database.execute("BEGIN IMMEDIATE")
      for index in first..<min(first + perCommit, count) {
        sqlite3_bind_int64(update, 1, Int64(index % 1000 + 1))
        database.step(update)
      }
      database.execute("COMMIT")
    }
    return Double(count) / -start.timeIntervalSinceNow
  }

  /// The median time in seconds of one `fdatasync` after overwriting 4 KiB.
  static func fdatasync() -> Double {
    let path = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString)"
    let file = open(path, O_RDWR | O_CREAT, 0o600)
    defer {
      close(file)
      unlink(path)
    }
    let block = [UInt8](repeating: 7, count: 4096)
    var times: [Double] = []
    for _ in 0..<300 {
      pwrite(file, block, block.count, 0)
      let start = DispatchTime.now().uptimeNanoseconds
      Foundation.fdatasync(file)
      times.append(Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
    }
    return times.median
  }

  /// The median time in seconds of one round trip of 200 bytes over TCP on loopback.
  static func roundTrip() throws -> Double {
    let (client, server) = try connectedSockets()
    defer {
      close(client)
      close(server)
    }
    let echo = Thread {
      var bytes = [UInt8](repeating: 0, count: 200)
      while recv(server, &bytes, 200, Int32(MSG_WAITALL)) == 200 { _ = send(server, bytes, 200, 0) }
    }
    echo.start()
    var bytes = [UInt8](repeating: 1, count: 200)
    var times: [Double] = []
    for _ in 0..<2000 {
      let start = DispatchTime.now().uptimeNanoseconds
      _ = send(client, bytes, 200, 0)
      _ = recv(client, &bytes, 200, Int32(MSG_WAITALL))
      times.append(Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9)
    }
    shutdown(client, Int32(SHUT_RDWR))
    return times.median
  }

  private static func connectedSockets() throws -> (Int32, Int32) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let status = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) + listen(listener, 1) + getsockname(listener, address, &length)
          + connect(client, address, length)
      }
    }
    guard status == 0 else { throw CocoaError(.featureUnsupported) }
    let server = accept(listener, nil, nil)
    var on: Int32 = 1
    for end in [client, server] { setsockopt(end, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4) }
    return (client, server)
  }
}

/// A new database that is used through SQLite's C API, with WAL and `synchronous=FULL` like Baton's store.
final class RawDatabase {
  private var handle: OpaquePointer?
  private let path = NSTemporaryDirectory() + "baton-bench-\(UUID().uuidString).db"

  init() throws {
    guard sqlite3_open(path, &handle) == SQLITE_OK else { throw CocoaError(.fileNoSuchFile) }
    execute("PRAGMA journal_mode = WAL")
    execute("PRAGMA synchronous = FULL")
  }

  func execute(_ sql: String) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      fatalError(String(cString: sqlite3_errmsg(handle)))
    }
  }

  func prepare(_ sql: String) -> OpaquePointer? {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
      fatalError(String(cString: sqlite3_errmsg(handle)))
    }
    return statement
  }

  func step(_ statement: OpaquePointer?) {
    guard sqlite3_step(statement) == SQLITE_DONE else { fatalError(String(cString: sqlite3_errmsg(handle))) }
    sqlite3_reset(statement)
  }

  func close() {
    sqlite3_close_v2(handle)
    for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
  }
}
