package import BatonModel
import BatonStore

/// What `baton logs` and `baton run` print.
extension Coordinator {
  package func logs(
    _ identifier: JobIdentifier, number: Int?, _ selection: LogSelection,
    _ body: @escaping @Sendable (LogPiece) async throws -> Void
  ) async throws {
    let first = try await lookedAt(identifier, number)
    var course = LogCourse(selection)
    try await watchers.watching(first.id) { signal in
      while !watchers.isClosed {
        try Task.checkCancellation()
        guard let record = try await store.request(first.id) else { return }
        let sources = try await sources(of: record, course)
        for source in sources {
          for number in 1...max(1, source.launches) where selection.launch ?? number == number {
            let output = try await store.outputPieces(of: LaunchKey(request: source.request, number: number))
            for piece in course.news(of: source, launch: number, output) { try await body(piece) }
          }
          if source.isEnded { course.noteEnd(of: source) }
        }
        for piece in course.takePast() { try await body(piece) }
        let hasEnded = selection.shards == .all ? record.state.isEnded : sources.allSatisfy(\.isEnded)
        if !selection.follows || hasEnded { return }
        try await nextChange(signal)
      }
    }
  }

  /// What may have new output: the request, or its shards that the selection names and that were launched.
  private func sources(of record: RequestRecord, _ course: LogCourse) async throws -> [LogCourse.Source] {
    if record.shards == nil, course.selection.names(0) {
      return [.init(request: record.id, launches: record.launches, isEnded: record.state.isEnded)]
    }
    switch course.selection.shards {
    case .one(let index):
      guard let shard = try await store.shards(of: record.id, after: index - 1, limit: 1).first, shard.index == index
      else { throw OperatorError.notFound("request \(record.number) of '\(record.identifier)' has no shard \(index)") }
      return [.init(request: shard.id, launches: shard.launches, isEnded: shard.state.isEnded)]
    case .all: return try await everyShard(of: record, but: course.ended)
    }
  }

  private func everyShard(of record: RequestRecord, but ended: Set<Int>) async throws -> [LogCourse.Source] {
    var (sources, after): ([LogCourse.Source], Int?) = ([], -1)
    while let last = after {
      let page = try await store.shards(of: record.id, after: last, limit: 1_000)
      sources += page.filter { $0.launches > 0 && !ended.contains($0.index) }.map { shard in
        .init(request: shard.id, shard: shard.index, launches: shard.launches, isEnded: shard.state.isEnded)
      }
      after = page.count == 1_000 ? page.last?.index : nil
    }
    return sources
  }
}

/// How far a client has got with the output of a request.
struct LogCourse {
  /// The request, or a shard of it.
  struct Source {
    var request: RequestID
    /// The shard that pieces are marked with.
    var shard: Int?
    var launches: Int
    var isEnded: Bool
  }

  let selection: LogSelection
  /// The shards that had ended when their output was read last.
  private(set) var ended: Set<Int> = []
  /// What was passed on of each shard; nothing if the output is read only once.
  private var sent: [Int: SentOutput] = [:]
  /// The end of the output that was there at the call; nil when it was passed on.
  private var past: [LogPiece]? = []
  /// How many bytes of `past` may be beyond the last lines, and how many came since it was cut to these.
  private var (slack, added) = (1 << 20, 0)

  init(_ selection: LogSelection) { self.selection = selection }

  /// The pieces to pass on now. While the output that was there at the call is read, its last lines are kept back if
  /// only these are wanted.
  mutating func news(of source: Source, launch: Int, _ output: [OutputPiece]) -> [LogPiece] {
    let bytes = output.flatMap(\.bytes)
    var count = bytes.count
    if selection.follows {
      count = sent[source.shard ?? 0, default: SentOutput()].news(of: launch, bytes)?.count ?? 0
    }
    guard count > 0 else { return [] }
    let pieces = output.suffix(bytes: count).map { piece in
      LogPiece(launch: launch, shard: source.shard, takenAt: piece.takenAt, bytes: piece.bytes)
    }
    if past == nil { return pieces }
    let recent = pieces.filter { piece in
      guard let since = selection.since, let takenAt = piece.takenAt else { return true }
      return takenAt >= since
    }
    guard let tail = selection.tail else { return recent }
    past?.append(contentsOf: recent)
    added += recent.reduce(0) { $0 + $1.bytes.count }
    // Cut now and then, and less often the more is kept: each cut looks at all of it.
    if added > slack {
      past = past?.lastLines(tail)
      slack = max(1 << 20, past?.reduce(0) { $0 + $1.bytes.count } ?? 0)
      added = 0
    }
    return []
  }

  /// Notes that the shard had ended when its output was read.
  mutating func noteEnd(of source: Source) {
    ended.insert(source.shard ?? 0)
    sent[source.shard ?? 0] = nil
  }

  /// The last lines of the output that was there at the call, once.
  mutating func takePast() -> [LogPiece] {
    defer { past = nil }
    return selection.tail.map { past?.lastLines($0) ?? [] } ?? []
  }
}

extension [LogPiece] {
  /// The last lines. What is behind the last line break of a launch counts as a line.
  func lastLines(_ count: Int) -> [LogPiece] {
    let lines = flatMap(\.lines)
    var starts: [Int] = []
    for (index, line) in lines.enumerated() where index == 0 || !lines[index - 1].isContinued(by: line) {
      starts.append(index)
    }
    guard count < starts.count else { return self }
    return count > 0 ? Array(lines[starts[starts.count - count]...]) : []
  }
}

extension LogPiece {
  /// The piece, cut behind each line break.
  fileprivate var lines: [LogPiece] {
    var (lines, rest): ([LogPiece], ArraySlice<UInt8>) = ([], bytes[...])
    while !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
      lines.append(LogPiece(launch: launch, shard: shard, takenAt: takenAt, bytes: Array(rest[..<end])))
      rest = rest[end...]
    }
    return lines
  }

  fileprivate func isContinued(by next: LogPiece) -> Bool {
    bytes.last != UInt8(ascii: "\n") && launch == next.launch && shard == next.shard
  }
}
