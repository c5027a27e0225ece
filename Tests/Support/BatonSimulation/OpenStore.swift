import BatonStore

/// The store of one simulation, on a connection that only this simulation uses for the time of its run.
struct OpenStore {
  let verbs: Verbs

  /// Runs `body` in one transaction and commits it. A `Violation` that `body` throws is passed on as it is, because the
  /// store would take it for a store error; the transaction is committed all the same.
  func transaction<Value>(_ body: (Verbs) throws -> Value) throws -> Value {
    var result: Result<Value, any Error>?
    try verbs.transaction { verbs in
      do { result = .success(try body(verbs)) } catch let violation as Violation { result = .failure(violation) }
    }
    guard let result else { preconditionFailure("a transaction was committed without having been run") }
    return try result.get()
  }
}
