internal import BatonBase
internal import BatonModel
internal import BatonProtobuf
internal import BatonWire
internal import SwiftProtobuf

/// Submits jobs, and tells what becomes of them: the client for programs that are written in Swift.
///
/// ```swift
/// let client = try JobClient()
/// let accepted = try await client.submit("com.example.import.orders", payload: ImportOrder(pages: 12))
/// let request = try await client.wait(for: accepted.request)
/// guard request.state == .succeeded else { throw ImportProblem(request.reason ?? "it gave no reason") }
/// ```
///
/// The sample is from `Examples/Client/ImportClient.swift`.
///
/// **Connection.** The first call connects, and the calls after it use the same connection, also at the same time. When
/// the connection is lost, the client connects again: to the same coordinator, or to the next one of several addresses.
/// It repeats the call that was under way, which has no second effect: a submission has an id, under which the
/// coordinator accepts it once. `close()`, or the end of the last reference, ends the connection.
///
/// **Time.** A coordinator has 5 s for an answer, and 60 s for an explanation. A client that never reached a
/// coordinator throws at once. A client that has reached one tries again, for as long as `patience` says, so that calls
/// and waits survive a restart of the coordinator. To wait for a shorter time, cancel the task of the call: the call
/// then throws `CancellationError` without delay.
///
/// **Errors.** All other errors are `JobClientError`, with a code and a text that says what to do.
public final class JobClient: Sendable {
  let calls: CoordinatorCalls
  /// Whose requests these are, unless a login says it.
  let submitter: String

  /// Creates a client. It connects with its first call.
  /// - Parameters:
  ///   - location: where the coordinator is and how this client gets in; `nil` finds it as the command line does, see
  ///     `CoordinatorLocation.automatic(environment:)`.
  ///   - submitter: who submits and cancels, for people who look at requests: at most 255 bytes. `nil` takes the name
  ///     of this process's user. With a login or a token of a fleet it is ignored: the name of the credential counts.
  ///   - patience: how long a call or a wait goes on without an answer, once the client has reached a coordinator. 0
  ///     lets each call fail at once.
  /// - Throws: `JobClientError` with the code `.invalid` if the settings in the environment are wrong, or with the code
  ///   `.notPermitted` if the login that they name is not there or cannot be used.
  public convenience init(
    _ location: CoordinatorLocation? = nil, submitter: String? = nil, patience: Duration = .seconds(60)
  ) throws {
    self.init(try location ?? .automatic(), submitter: submitter, patience: patience, clocks: .system)
  }

  /// - Parameter answer: how long a coordinator may take for an answer.
  init(
    _ location: CoordinatorLocation, submitter: String?, patience: Duration, answer: Duration = .seconds(5),
    clocks: Clocks
  ) {
    calls = CoordinatorCalls(location, patience: patience, answer: answer, clocks: clocks)
    self.submitter = submitter ?? OwnUser.name
  }

  deinit { calls.close() }

  /// Ends the connection. Calls that are under way, and all later ones, throw a `JobClientError` with the code
  /// `.closed`. A client that is released closes by itself.
  public func close() { calls.close() }
}

extension JobClient {
  /// How long an answer in pages may take: the larger the fleet, the longer it takes.
  static let pages = Duration.seconds(60)

  static func show(_ name: JobRequest.Name) throws -> Baton_V1_ShowRequest {
    let identifier = try identifier(name.identifier)
    return .with {
      $0.identifier = identifier.rawValue
      if let number = name.number { $0.number = Int64(number) }
    }
  }

  static func identifier(_ text: String) throws -> JobIdentifier {
    guard let identifier = JobIdentifier(text) else {
      throw JobClientError(
        .invalid,
        "'\(text.escapedOnOneLine)' is not an identifier: it has letters, digits, '-' and '_', with dots between the "
          + "parts, and at most \(JobIdentifier.maximumBytes) bytes")
    }
    return identifier
  }
}
