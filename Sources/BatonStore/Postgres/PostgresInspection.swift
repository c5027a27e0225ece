internal import BatonPostgres

/// Looks at a store in PostgreSQL from another process: it changes nothing. `baton doctor` uses it.
package struct PostgresInspection: Hashable, Sendable {
  /// Who has a commit when it is answered.
  package enum Replication: Hashable, Sendable {
    /// No standby is connected, and none has to be.
    case none
    /// A commit waits for standbys. The text is `synchronous_standby_names`.
    case synchronous(names: String, connected: Int)
    /// Standbys are connected, and no commit waits for them.
    case asynchronous(connected: Int)
    /// This server is a standby itself.
    case isStandby
  }

  package enum State: Hashable, Sendable {
    case found(Replication, synchronousCommit: String, PostgresHistory?)
    /// The store has moved to this place, or is moving from there.
    case moved(String)
    /// The server cannot be reached, or refuses the user or what a store needs.
    case unreachable(String)
  }

  /// The address without secrets.
  package let address: String
  package let state: State

  package init(address: String, state: State) {
    (self.address, self.state) = (address, state)
  }

  /// Connects to the server; this takes at most some seconds.
  package init(_ text: String) {
    do {
      let address = try PostgresAddress(text)
      self.address = address.redacted
      do {
        state = try Self.look(at: address)
      } catch {
        state = .unreachable(StoreError(anything: error).message)
      }
    } catch {
      (address, state) = ("", .unreachable(error.message))
    }
  }

  private static func look(at address: PostgresAddress) throws -> State {
    let server = PostgresServer(address: address, limits: PostgresLimits())
    let connection = try server.connect()
    defer { connection.close() }
    if let mark = try PostgresMark.read(connection, deadline: server.deadline()) { return .moved(mark.place) }
    let rows = try connection.run(
      PostgresStatement(
        """
        SELECT pg_is_in_recovery(), current_setting('synchronous_commit'),
          current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication)
        """), deadline: server.deadline())
    let (names, commit) = (try rows.text(0, 2), try rows.text(0, 1))
    let connected = Int(try rows.integer(0, 3))
    // With `local` a commit waits for no standby, whatever the other setting says.
    let waits = !names.isEmpty && commit != "local"
    let replication: Replication =
      if try rows.integer(0, 0) == 1 {
        .isStandby
      } else if waits {
        .synchronous(names: names, connected: connected)
      } else {
        connected == 0 ? .none : .asynchronous(connected: connected)
      }
    let history = try PostgresHistory.read(connection, deadline: server.deadline())
    return .found(replication, synchronousCommit: commit, history)
  }
}
