import BatonStore

/// The store of one simulation, on a connection that nobody else has meanwhile.
struct OpenStore {
  let verbs: Verbs

  /// A violation that is found within is thrown as it is; the store would take it for an error of its own.
  func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    try verbs.transaction { verbs in
      do { result = .success(try body(verbs)) } catch let violation as Violation { result = .failure(violation) }
    }
    guard let result else { preconditionFailure("a transaction was committed without having been run") }
    return try result.get()
  }
}
