internal import CBatonPostgres

/// libpq, the client library of PostgreSQL, in this process. It is loaded by its first use, and stays.
///
/// `@unchecked`: what the pointers lead to is written once before `load` returns, and never changed afterwards. libpq
/// itself is safe in several threads as long as each connection is used by one thread at a time.
package struct PostgresLibrary: @unchecked Sendable {
  let functions: UnsafePointer<baton_pq>

  /// Loads libpq, or gives the library that is already loaded.
  ///
  /// Throws `.libraryMissing` with a message that names the package to install.
  package static func load() throws(PostgresError) -> PostgresLibrary {
    var problem: UnsafePointer<CChar>?
    guard let functions = baton_pq_load(&problem) else {
      throw PostgresError(.libraryMissing, problem.map { String(cString: $0) } ?? "libpq cannot be loaded")
    }
    return PostgresLibrary(functions: functions)
  }

  /// Loads the library of this file name. The library, and the table of its functions, are never unloaded.
  static func load(named name: String) throws(PostgresError) -> PostgresLibrary {
    let functions = UnsafeMutablePointer<baton_pq>.allocate(capacity: 1)
    let problem = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { text in
      baton_pq_open(name, functions, text.baseAddress!, text.count) == 0 ? nil : String(cString: text.baseAddress!)
    }
    guard let problem else { return PostgresLibrary(functions: functions) }
    functions.deallocate()
    throw PostgresError(.libraryMissing, problem)
  }

  /// Whether libpq can be used on this machine.
  package static var isInstalled: Bool { (try? load()) != nil }

  /// The version of libpq, such as 150_018 for 15.18.
  package var version: Int { Int(call.PQlibVersion()) }

  var call: baton_pq { functions.pointee }
}
