import BatonBase
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore
import HTTPTypes
import Synchronization

/// Calls that last: they wait for a request, or follow its output.
extension Route {
  private enum Until: String, CaseIterable { case ended, changed }

  static let longestWait = Duration.seconds(300)

  /// Answers with the request when it has ended, or with what it is when the time is over. With `until=changed` it also
  /// answers when the request differs from what the caller has (`If-None-Match`), or from what it was at the call.
  @Sendable static func wait(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let timeout = try call.query.duration("timeout", in: .zero...longestWait) ?? .seconds(60)
    let until = try call.query.word("until", Until.self) ?? .ended
    let known = call.headers[.ifNoneMatch]
    let place = try call.waits.place()
    defer { withExtendedLifetime(place) {} }
    let seen = Seen(until == .changed ? known : nil)
    // The request of now, whose number stays the same while it is waited for.
    let first = try await call.run { try await $0.details(identifier, number: number) }
    let chosen = first.record.number
    if timeout > .zero, !seen.isEnough(first, until == .changed) {
      try await call.runWhileValid { api in
        try await ending(after: { try await call.calls.sleep(timeout) }) {
          try await api.watch(identifier, number: chosen) { details in
            if seen.isEnough(details, until == .changed) { throw Enough() }
          }
        }
      }
    }
    let details = try await call.run { try await $0.details(identifier, number: chosen) }
    return Answer(JSONValue(details.record))
  }

  /// Whether what a caller waits for has come.
  private final class Seen: Sendable {
    /// What the caller knows: the validator of an earlier answer; `nil` until the first look if there was none.
    private let known: Mutex<RequestRecord?>
    private let validator: String?

    init(_ validator: String?) {
      known = Mutex(nil)
      self.validator = validator
    }

    func isEnough(_ details: RequestDetails, _ countsChanges: Bool) -> Bool {
      let record = details.record
      if record.state.isEnded { return true }
      guard countsChanges else { return false }
      if let validator { return Answer(JSONValue(record)).validated(against: validator).status != .notModified }
      return known.withLock { known in
        defer { known = known ?? record }
        return known.map { JSONValue($0) != JSONValue(record) } ?? false
      }
    }
  }

  /// What ends a watch.
  private struct Enough: Error {}

  /// Runs `body` until it ends, throws `Enough`, or `sleep` ends.
  private static func ending(
    after sleep: @escaping @Sendable () async throws -> Void, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { do { try await body() } catch is Enough {} }
      group.addTask { try await sleep() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  // MARK: Output

  @Sendable static func logs(_ call: Call) async throws -> Answer {
    let (identifier, number) = (try call.identifier, try call.number)
    let query = call.query
    let shards: LogSelection.Shards =
      try query.text("shard") == "all" ? .all : .one(try query.number("shard", in: 0...Int(Int32.max)) ?? 0)
    let selection = LogSelection(
      shards: shards, launch: try query.number("launch", in: 1...Int(Int32.max)), follows: try query.truth("follow"),
      tail: try query.number("tail", in: 0...1_000_000), since: try query.since("since", now: call.now))
    let place = selection.follows ? try call.waits.place() : nil
    // The request of now, so that its number stays the same, and the first look at its output: what the caller may not
    // read is refused here, where an answer can still say so.
    let chosen = try await call.run { api in
      let record = try await api.details(identifier, number: number).record
      var look = selection
      look.follows = false
      do {
        try await api.logs(identifier, number: record.number, look) { _ in throw Enough() }
      } catch is Enough {}
      return record.number
    }
    return Answer(
      body: .stream(type: "text/plain; charset=utf-8") { write in
        defer { withExtendedLifetime(place) {} }
        try await call.runWhileValid { api in
          try await api.logs(identifier, number: chosen, selection) { try await write($0.bytes) }
        }
      })
  }
}
