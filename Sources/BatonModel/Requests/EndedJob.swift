/// The payload of a request that `onSuccess` or `onFailure` of another job has submitted: what is known of the request
/// that ended. It is an object of JSON.
///
/// A handler decodes it with `task.payload(as: EndedJob.self)`.
public struct EndedJob: Hashable, Sendable, Codable {
  /// How a request ends for `onSuccess` and `onFailure`. A cancelled request submits nothing.
  public enum State: String, Hashable, Sendable, Codable { case succeeded, failed }

  /// The identifier of the request.
  public var identifier: JobIdentifier
  /// The number of the request among those of its identifier, from 1.
  public var request: Int
  /// How the request ended.
  public var state: State
  /// The message of the failure; `nil` if the request succeeded. At most 4,096 bytes.
  public var reason: String?
  /// The kind of the last launch's failure, as the attribute `error.type` of a span names it, such as `exit 75`; `nil`
  /// if the request succeeded or had shards.
  public var failure: String?
  /// How many launches the request had, those of all its shards.
  public var launches: Int
  /// When the request ended, in RFC 3339 in UTC with milliseconds, such as `2026-11-28T02:00:07.250Z`.
  public var endedAt: String
  /// The trace id of the request: 32 hexadecimal digits.
  public var trace: String?

  /// Makes the facts of a request that ended.
  public init(
    identifier: JobIdentifier, request: Int, state: State, reason: String?, failure: String?, launches: Int,
    endedAt: String, trace: String?
  ) {
    self.identifier = identifier
    self.request = request
    self.state = state
    self.reason = reason
    self.failure = failure
    self.launches = launches
    self.endedAt = endedAt
    self.trace = trace
  }
}
