import BatonModel

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One line that a command with its own cursor wrote to `BATON_PROGRESS_FD`. It is a JSON object with any of these
/// keys: `checkpoint` (any value), `completed` and `total` (whole numbers), `subtitle`, `result` (any value; of a
/// refresh one of three words), and `transfers` (a list).
struct ProgressLine: Hashable, Sendable {
  /// The value's bytes as the command wrote them. `nil` keeps the last cursor.
  var checkpoint: [UInt8]?
  var completed: Int64?
  var total: Int64?
  var subtitle: String?
  /// The result of the request; its bytes are those that the command wrote.
  var result: JobResult?
  /// What a refresh has found: its result.
  var found: RefreshResult?
  /// Transfers that the command adds. They are stored with the line.
  var transfers: [Transfer] = []

  /// The longest line in bytes: the largest checkpoint and the largest result, plus room for the other keys.
  static let maximumBytes = Checkpoint.maximumCursorBytes + JobResult.maximumBytes + (64 << 10)

  /// The most transfers of one line.
  static let mostTransfers = 1_000

  /// A transfer as a command writes it, with the keys of the job file.
  private struct AddedTransfer: Decodable {
    var url: String
    var to: String?
    var method: Transfer.Method?
    var file: String?
    var sha256: String?
    var size: Int64?
    var group: String?
    var discretionary: Bool?
    var network: NetworkRequirement?
    var allowsConstrained: Bool?
    var shared: Bool?

    var transfer: Transfer {
      let method = method ?? .get
      let name = WebAddress(url)?.path.prefix { $0 != "?" }.split(separator: "/").last.map(String.init)
      return Transfer(
        url: url, method: method, to: method == .get ? to ?? name : to, file: file, sha256: sha256, size: size,
        group: group ?? Transfer.defaultGroup, isDiscretionary: discretionary ?? false, network: network ?? .any,
        allowsConstrained: allowsConstrained ?? true, isShared: shared ?? false)
    }
  }

  private struct Fields: Decodable {
    var completed: Int64?
    var total: Int64?
    var subtitle: String?
    var transfers: [AddedTransfer]?
  }

  private static let keys: Set<String> = ["checkpoint", "completed", "total", "subtitle", "result", "transfers"]

  /// - Parameters:
  ///   - kind: of the definition. The result of a refresh is one of three words.
  ///   - redaction: removes secrets from the subtitle and from the messages of errors.
  /// - Throws: `CommandError` with the code `.badProgress`. The message names the line.
  init(_ bytes: [UInt8], number: Int, of kind: JobKind, redaction: Redaction = .none) throws {
    let line = redaction.redacted(bytes)
    guard JSONMembers.isObject(bytes), let fields = try? JSONDecoder().decode(Fields.self, from: Data(bytes)) else {
      throw Self.problem(
        line, number,
        "is not a JSON object (in UTF-8, without a byte order mark) in which 'completed' and 'total' are whole numbers, "
          + "'subtitle' is a string, and 'transfers' is a list of objects with 'url'"
      )
    }
    let members = JSONMembers(of: bytes).members
    if let unknown = members.first(where: { !Self.keys.contains($0.key) }) {
      throw Self.problem(line, number, "has an unknown key '\(redaction.redacted(unknown.key))'")
    }
    checkpoint = members.last { $0.key == "checkpoint" }.map { Array($0.value) }
    (completed, total) = (fields.completed, fields.total)
    subtitle = fields.subtitle.map(redaction.redacted)
    if let checkpoint, redaction.finds(in: checkpoint) {
      throw Self.problem(
        line, number, "has the value of a secret in its checkpoint, which would be stored; leave the value out")
    }
    if let size = checkpoint?.count, size > Checkpoint.maximumCursorBytes {
      throw Self.problem(
        line, number, "has a checkpoint of \(size) bytes, over the limit of \(Checkpoint.maximumCursorBytes)")
    }
    if let json = members.last(where: { $0.key == "result" })?.value {
      result = try Self.result(json, line, number, redaction)
    }
    if kind == .refresh, let result, result.text != "null" {
      found = RefreshResult.allCases.first { "\"\($0.rawValue)\"" == result.text }
      if found == nil { throw Self.problem(line, number, "has a 'result' that is not newData, noData or failed") }
    }
    transfers = (fields.transfers ?? []).map(\.transfer)
    if let problem = transfers.lazy.compactMap(\.problems.first).first {
      throw Self.problem(line, number, "has a transfer that no host can carry out: \(problem)")
    }
    if transfers.count > Self.mostTransfers {
      throw Self.problem(line, number, "has more than \(Self.mostTransfers) transfers; write several lines")
    }
    if (completed ?? 0) < 0 || (total ?? 0) < 0 {
      throw Self.problem(line, number, "has a negative 'completed' or 'total'")
    }
  }

  /// The value of `result`. A value that the store would not keep as it is fails the launch: otherwise the jobs that
  /// come after this one would get another result, or none, and nothing would say so.
  private static func result(
    _ json: ArraySlice<UInt8>, _ line: [UInt8], _ number: Int, _ redaction: Redaction
  ) throws -> JobResult {
    if redaction.finds(in: Array(json)) {
      throw problem(line, number, "has the value of a secret in its result, which would be stored; leave the value out")
    }
    do throws(JobResultProblem) {
      return try JobResult(Array(json))
    } catch {
      throw problem(line, number, "has \(error)")
    }
  }

  static func problem(_ line: [UInt8], _ number: Int, _ what: String) -> CommandError {
    let shown = String(decoding: line.prefix(200), as: UTF8.self) + (line.count > 200 ? "…" : "")
    return CommandError(
      .badProgress, "line \(number) of what the command wrote to BATON_PROGRESS_FD \(what): \(shown)")
  }
}
