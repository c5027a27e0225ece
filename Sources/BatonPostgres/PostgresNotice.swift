internal import CBatonPostgres

/// A message of the server that is not an error, such as `WARNING 01000`.
///
/// A COMMIT that waits for a synchronous standby and is cancelled is answered with success and WARNING 01000, and one
/// that is terminated with WARNING 57P01: then the transaction is committed here, and perhaps not on the standby. So a
/// caller that has promised more than this server looks at the notices of its COMMIT.
package struct PostgresNotice: Sendable, Hashable {
  /// In English, whatever language the server speaks: DEBUG, LOG, INFO, NOTICE, WARNING; ERROR or FATAL if the server
  /// ended the connection while no statement was running.
  package var severity: String
  /// "00000" if the message has no other code.
  package var sqlState: String
  /// In one line.
  package var message: String
  /// The statement of the call that the server was at, counted from 0; `nil` before the first statement, after the
  /// last, and in a script.
  package var statementIndex: Int?

  package init(severity: String, sqlState: String, message: String, statementIndex: Int? = nil) {
    self.severity = severity
    self.sqlState = sqlState
    self.message = message.onOneLine
    self.statementIndex = statementIndex
  }

  /// Warnings are worth a look; the rest is for people.
  package var isWarning: Bool { severity == "WARNING" }

  /// The server ends the connection with this message.
  var isFatal: Bool { severity == "FATAL" || severity == "PANIC" }
}

/// A message of NOTIFY.
package struct PostgresNotification: Sendable, Hashable {
  package var channel: String
  package var payload: String
  /// The process of the server that sent it; `backendPID` of the connection that did.
  package var senderPID: Int32
}

/// Where libpq puts the notices of one connection, on the thread that uses the connection.
final class NoticeBox {
  /// A trigger that warns for each row must not fill the memory; the newest are kept.
  static let capacity = 1_000

  private let library: PostgresLibrary
  private(set) var notices: [PostgresNotice] = []
  var statementIndex: Int?

  init(_ library: PostgresLibrary) { self.library = library }

  /// Forgets what earlier calls were told, but not why the server has ended the connection in between.
  func begin() {
    notices.removeAll { !$0.isFatal }
    statementIndex = nil
  }

  var fatal: PostgresNotice? { notices.last { $0.isFatal } }

  /// Has libpq call `take` for the notices of `connection`. The box has to live as long as the connection.
  func attach(to connection: OpaquePointer) {
    _ = library.call.PQsetNoticeReceiver(
      connection,
      { context, result in
        guard let context else { return }
        Unmanaged<NoticeBox>.fromOpaque(context).takeUnretainedValue().take(result)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func take(_ result: OpaquePointer) {
    if notices.count >= Self.capacity { notices.removeFirst() }
    notices.append(
      PostgresNotice(
        severity: library.field(BATON_PQ_SEVERITY, of: result) ?? "NOTICE",
        sqlState: library.field(BATON_PQ_SQLSTATE, of: result) ?? "00000",
        message: library.field(BATON_PQ_MESSAGE, of: result) ?? "", statementIndex: statementIndex))
  }
}

extension PostgresLibrary {
  /// A field of an error or of a notice.
  func field(_ code: Int32, of result: OpaquePointer) -> String? {
    call.PQresultErrorField(result, code).map { String(cString: $0) }
  }
}
