import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore
import Synchronization

/// What the commands of a run write, shown line by line as it comes. If several requests or shards run, each line says
/// whose it is. Characters that act on a terminal are escaped.
final class LiveOutput: Sendable {
  private let display: ProgressDisplay
  private let stream: CommandEnvironment.Stream
  /// Only what came since then is shown: an earlier run has shown the rest.
  private let since: Timestamp
  private let namesRequests: Bool

  /// A request, or one of its shards.
  private struct Source: Hashable {
    var request: RequestName
    var shard: Int?
  }

  private struct State {
    /// The beginning of a line whose end has not come.
    var rest: [Source: [UInt8]] = [:]
    /// The requests of which something was shown.
    var shown: Set<RequestName> = []
  }

  private let state = Mutex(State())
  /// The longest line; a longer one is shown in parts.
  private static let longestLine = 4096

  init(_ display: ProgressDisplay, to stream: CommandEnvironment.Stream, since: Timestamp, namesRequests: Bool) {
    (self.display, self.stream, self.since, self.namesRequests) = (display, stream, since, namesRequests)
  }

  /// Whether something of the request's output was shown.
  func hasShown(_ request: RequestName) -> Bool { state.withLock { $0.shown.contains(request) } }

  /// Shows the output of the requests until they have ended. What cannot be read is a warning, because the run does not
  /// depend on it.
  func follow(_ requests: [RequestName], _ api: any OperatorAPI) async {
    var rest = requests[...]
    await withTaskGroup(of: Void.self) { group in
      for request in rest.prefix(Following.atOnce) { group.addTask { await self.follow(request, api) } }
      rest = rest.dropFirst(Following.atOnce)
      while await group.next() != nil {
        if let request = rest.popFirst() { group.addTask { await self.follow(request, api) } }
      }
    }
  }

  private func follow(_ request: RequestName, _ api: any OperatorAPI) async {
    do {
      let selection = LogSelection(shards: .all, follows: true, since: since)
      try await api.logs(request.identifier, number: request.number, selection) { self.take($0, of: request) }
    } catch is CancellationError {
    } catch {
      display.warning("the output of \(request) cannot be shown: \(CommandFailure(error).message)")
    }
    finish(request)
  }

  private func take(_ piece: LogPiece, of request: RequestName) {
    let source = Source(request: request, shard: piece.shard)
    let lines = state.withLock { state in
      state.shown.insert(request)
      var bytes = state.rest[source, default: []] + piece.bytes
      var lines: [String] = []
      while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        lines.append(line(bytes[..<end], of: source))
        bytes.removeSubrange(...end)
      }
      if bytes.count > Self.longestLine {
        lines.append(line(bytes[...], of: source))
        bytes = []
      }
      state.rest[source] = bytes
      return lines
    }
    display.output(lines, to: stream)
  }

  /// Shows the lines of the request that have no end.
  private func finish(_ request: RequestName) {
    let lines = state.withLock { state in
      let sources = state.rest.keys.filter { $0.request == request }.sorted { $0.shard ?? 0 < $1.shard ?? 0 }
      return sources.compactMap { source -> String? in
        guard let bytes = state.rest.removeValue(forKey: source), !bytes.isEmpty else { return nil }
        return line(bytes[...], of: source)
      }
    }
    display.output(lines, to: stream)
  }

  private func line(_ bytes: ArraySlice<UInt8>, of source: Source) -> String {
    let text = String(decoding: bytes, as: UTF8.self).split(separator: "\t", omittingEmptySubsequences: false)
      .map { String($0).onOneLine }.joined(separator: "\t")
    let names =
      (namesRequests ? [source.request.identifier.rawValue] : []) + (source.shard.map { ["shard \($0)"] } ?? [])
    return names.isEmpty ? text : names.joined(separator: ", ") + " | " + text
  }
}
