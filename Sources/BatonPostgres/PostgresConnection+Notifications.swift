internal import CBatonPostgres

extension PostgresConnection {
  /// Waits for messages on the channels to which LISTEN was sent on this connection. Returns all that have arrived, in
  /// their order, also during other calls; none if the deadline passes, after which the connection is still usable.
  ///
  /// A message is a hint: it is lost while no connection listens.
  ///
  /// Throws `.brokenConnection` if the server has ended the connection.
  package func notifications(
    deadline: ContinuousClock.Instant
  ) throws(PostgresError) -> [PostgresNotification] {
    box.begin()
    guard let handle else { throw PostgresError(.brokenConnection, "the connection to PostgreSQL is closed") }
    while true {
      // libpq reads messages as a part of looking for answers.
      _ = library.call.PQisBusy(handle)
      let arrived = takeNotifications(handle)
      if !arrived.isEmpty { return arrived }
      switch library.wait(for: handle, BATON_PQ_READABLE, until: deadline) {
      case .passed: return []
      case .interrupted: continue
      case .failed(let problem): throw brokenWhileIdle(problem)
      case .ready: guard library.call.PQconsumeInput(handle) == 1 else { throw brokenWhileIdle() }
      }
    }
  }

  /// The connection broke while nothing was asked of the server.
  private func brokenWhileIdle(_ problem: String? = nil) -> PostgresError {
    var error = broken(problem)
    error.isOutcomeUnknown = false
    return error
  }

  private func takeNotifications(_ handle: OpaquePointer) -> [PostgresNotification] {
    var arrived: [PostgresNotification] = []
    while let notification = library.call.PQnotifies(handle) {
      arrived.append(
        PostgresNotification(
          channel: String(cString: notification.pointee.relname),
          payload: String(cString: notification.pointee.extra), senderPID: notification.pointee.be_pid))
      library.call.PQfreemem(notification)
    }
    return arrived
  }
}
