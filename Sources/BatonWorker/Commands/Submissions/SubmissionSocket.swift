import BatonBase
import BatonHandler
import BatonHost
package import BatonModel
import BatonProcess

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Takes the submissions of a command on a Unix socket in the folder of its launch. Each connection carries one line of
/// JSON in each direction: a `SubmissionRequest` and a `SubmissionReply`.
///
/// The path of the socket is all that a command needs to submit, and it permits nothing else. The socket is there while
/// the command runs, and only the command's user, the worker's user and root may use it.
struct SubmissionSocket: Sendable {
  private let listener: UnixSocket
  private let user: UInt32
  /// How long a client may take to send its request, and again to take the answer.
  private let patience: Duration

  /// How many connections are served at the same time. Further clients wait.
  static let connections = 16

  /// Listens in the folder of a launch.
  /// - Parameter user: the user as which the command runs; `nil` means the worker's user.
  init(in folder: LaunchFolder, for user: CommandUser?, patience: Duration = .seconds(5)) throws {
    listener = try folder.listen(for: user)
    (self.user, self.patience) = (user?.id ?? geteuid(), patience)
  }

  /// Answers until its task is cancelled. Submissions that have been begun are waited for.
  func serve(
    _ submit: @escaping @Sendable (SubmissionRequest) async throws -> AcceptedSubmission
  ) async {
    await withTaskGroup(of: Void.self) { group in
      var open = 0
      while let connection = await next() {
        group.addTask { await serve(connection, submit) }
        open += 1
        guard open == Self.connections else { continue }
        await group.next()
        open -= 1
      }
      group.cancelAll()
    }
  }

  /// The next connection, or `nil` when the task is cancelled.
  private func next() async -> UnixSocket? {
    while true {
      await Readiness.wait(reading: listener.descriptor)
      if Task.isCancelled { return nil }
      if let connection = listener.accept() { return connection }
      // The client has gone, or this process has too many open files. Only waiting helps in the second case.
      try? await Task.sleep(for: .milliseconds(50), clock: .continuous)
    }
  }

  private func serve(
    _ connection: UnixSocket, _ submit: @Sendable (SubmissionRequest) async throws -> AcceptedSubmission
  ) async {
    await withTaskCancellationHandler {
      guard let request = try? await onOwnThread({ read(connection) }) else { return }
      let reply = await reply(to: request, submit)
      _ = try? await onOwnThread { connection.send(reply.line, until: .now + patience) }
    } onCancel: {
      connection.close()
    }
  }

  /// - Returns: `nil` if no client waits for an answer.
  private func read(_ connection: UnixSocket) -> Result<SubmissionRequest, SubmissionRequest.Problem>? {
    guard let peer = connection.peerUser, [0, user, geteuid()].contains(peer) else {
      return .failure(SubmissionRequest.Problem("only the user of the command may submit here"))
    }
    switch connection.line(atMost: SubmissionRequest.maximumBytes, until: .now + patience) {
    case .line(let line): return Result { () throws(SubmissionRequest.Problem) in try SubmissionRequest(line) }
    case .tooLong:
      return .failure(SubmissionRequest.Problem("a request has at most \(SubmissionRequest.maximumBytes) bytes"))
    case .ended, .late: return nil
    }
  }

  private func reply(
    to request: Result<SubmissionRequest, SubmissionRequest.Problem>?,
    _ submit: @Sendable (SubmissionRequest) async throws -> AcceptedSubmission
  ) async -> SubmissionReply {
    do {
      guard let request = try request?.get() else { return SubmissionReply(code: "badRequest", "no request came") }
      return SubmissionReply(try await submit(request))
    } catch let problem as SubmissionRequest.Problem {
      return SubmissionReply(code: "badRequest", problem.message)
    } catch let error as HandlerError {
      let code = error.code == .superseded ? "superseded" : (error.refusal ?? .unavailable).rawValue
      return SubmissionReply(code: code, error.message)
    } catch {
      return SubmissionReply(code: SubmissionRefusal.unavailable.rawValue, "\(error)")
    }
  }
}

/// What a command asks for on its `SubmissionSocket`: one line of JSON, of at most `maximumBytes`.
package struct SubmissionRequest: Hashable, Sendable, Codable {
  /// The identifier of the job.
  package var identifier: String
  /// Names the submission within the request; `nil` for its identifier (`LaunchSubmission.name`).
  package var name: String?
  /// The payload as text.
  package var payload: String?
  /// The payload as bytes in base64, in place of `payload`.
  package var payloadBase64: String?
  /// The shortest time until the first launch.
  package var afterMilliseconds: Int64?
  /// The earliest time of the first launch, in nanoseconds since 1970, in place of `afterMilliseconds`.
  package var atNanoseconds: Int64?
  /// `background`, `utility` or `userInitiated`; `nil` for the definition's.
  package var priority: String?
  /// The span of the submitter (W3C Trace Context).
  package var traceparent: String?

  /// The largest payload in base64, and room for the rest.
  package static let maximumBytes = 128 << 10

  struct Problem: Error, Hashable {
    let message: String
    init(_ message: String) { self.message = message }
  }

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case identifier, name, payload, payloadBase64, afterMilliseconds, atNanoseconds, priority, traceparent
  }

  package init(_ submission: LaunchSubmission, name: String?) {
    identifier = submission.identifier.rawValue
    self.name = name
    payloadBase64 = submission.payload.map { Data($0).base64EncodedString() }
    switch submission.earliestBeginDate {
    case .afterSubmission(let delay): afterMilliseconds = delay.nanoseconds / 1_000_000
    case .at(let date): atNanoseconds = date.nanoseconds
    case nil: break
    }
    priority = submission.priority?.name
    traceparent = submission.parent?.traceparent
  }

  init(_ line: [UInt8]) throws(Problem) {
    guard JSONMembers.isObject(line), let decoded = try? JSONDecoder().decode(Self.self, from: Data(line)) else {
      throw Problem(
        "this is not a request: write one line such as {\"identifier\": \"com.example.report\"}, in UTF-8 and without "
          + "a byte order mark")
    }
    self = decoded
    let known = Set(CodingKeys.allCases.map(\.rawValue))
    if let unknown = JSONMembers(of: line).members.first(where: { !known.contains($0.key) }) {
      throw Problem(
        "unknown key '\(unknown.key.escapedOnOneLine)'; a request has "
          + CodingKeys.allCases.map(\.rawValue).joined(separator: ", "))
    }
  }

  /// The submission that the request asks for.
  /// - Parameter batch: the number of the batch that runs, which belongs to the name of a submission that has none;
  ///   `nil` if the command does not run once for each batch.
  func submission(batch: Int?) throws(Problem) -> LaunchSubmission {
    guard let known = JobIdentifier(identifier) else {
      throw Problem("'\(identifier.escapedOnOneLine)' is not an identifier")
    }
    guard payload == nil || payloadBase64 == nil else { throw Problem("write payload or payloadBase64, not both") }
    guard afterMilliseconds == nil || atNanoseconds == nil else {
      throw Problem("write afterMilliseconds or atNanoseconds, not both")
    }
    var bytes = payload.map { Array($0.utf8) }
    if let payloadBase64 {
      guard let data = Data(base64Encoded: payloadBase64) else { throw Problem("payloadBase64 is not base64") }
      bytes = Array(data)
    }
    let longest = Definition.Limits.longestDurationInSeconds * 1000
    guard (0...longest).contains(afterMilliseconds ?? 0) else {
      throw Problem("afterMilliseconds is from 0 to \(longest)")
    }
    guard (0...).contains(atNanoseconds ?? 0) else { throw Problem("atNanoseconds is a time after 1970") }
    let chosen = priority.flatMap { Priority(name: $0) }
    guard (chosen == nil) == (priority == nil) else {
      throw Problem("a priority is background, utility or userInitiated")
    }
    let usual = batch.map { "\(identifier)#\($0)" } ?? identifier
    let submission = LaunchSubmission(
      name: name ?? usual, identifier: known, payload: bytes,
      earliestBeginDate: afterMilliseconds.map { .afterSubmission(.milliseconds($0)) }
        ?? atNanoseconds.map { .at(Timestamp(nanoseconds: $0)) },
      priority: chosen, parent: traceparent.flatMap { TraceContext(traceparent: $0) })
    if let problem = submission.problem { throw Problem(problem) }
    return submission
  }
}

/// The answer on a `SubmissionSocket`: one line of JSON. Either `code` and `message` are set, or the others.
package struct SubmissionReply: Hashable, Sendable, Codable {
  /// Apple's code of a refusal, `superseded`, or `badRequest`; `nil` if the submission was accepted.
  package var code: String?
  package var message: String?
  package var identifier: String?
  package var number: Int?
  package var state: String?
  /// In nanoseconds since 1970.
  package var eligibleAt: Int64?
  package var replaced: Bool?
  /// Whether an earlier launch, or an earlier call, has made this submission.
  package var isRepeat: Bool?

  package static let maximumBytes = 64 << 10

  init(code: String, _ message: String) { (self.code, self.message) = (code, message) }

  init(_ accepted: AcceptedSubmission) {
    identifier = accepted.identifier.rawValue
    number = accepted.number
    state = accepted.state.rawValue
    eligibleAt = accepted.eligibleAt.nanoseconds
    (replaced, isRepeat) = (accepted.replaced, accepted.isRepeat)
  }

  var line: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let line = try? encoder.encode(self) else {
      preconditionFailure("an answer to a submission cannot be written as JSON: \(self)")
    }
    return Array(line) + [UInt8(ascii: "\n")]
  }
}
