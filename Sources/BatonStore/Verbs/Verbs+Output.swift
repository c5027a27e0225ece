package import BatonModel

extension Verbs {
  /// Adds output to launches. Output of a launch that does not run on `process`, or does not run any more, is dropped:
  /// output is kept for convenience only. A worker sends the last output of a launch before its ending.
  package func appendOutput(_ chunks: [OutputChunk], from process: WorkerProcess) throws {
    guard let host = try holder(process) else { return }
    try need(chunks.flatMap { [.request($0.launch.request), .output($0.launch)] })
    for chunk in chunks where !chunk.bytes.isEmpty {
      let (request, launch) = (chunk.launch.request.rawValue, chunk.launch.number)
      guard try prepare(.openLaunchOn).first(request, launch, host, row: { _ in true }) == true else { continue }
      let end = try append(chunk, request, launch)
      try prepare(.trimOutput).run(request, launch, end - OutputChunk.maximumKeptBytes)
    }
  }

  /// Stores the bytes and returns the offset at which the launch's output now ends. Short pieces are added to the last
  /// row up to 8 KiB if they belong to the same second or to a line that is not complete, so that a command that prints
  /// byte by byte does not make one row for each byte.
  private func append(_ chunk: OutputChunk, _ request: Int64, _ launch: Int) throws -> Int {
    let bytes = chunk.bytes
    let last = try prepare(.lastOutput).first(request, launch) { row in
      (start: row.int(0), piece: OutputPiece(takenAt: row.optionalTime(2), bytes: row.blob(1)))
    }
    let end = (last.map { $0.start + $0.piece.bytes.count } ?? 0) + bytes.count
    if let last, last.piece.bytes.count + bytes.count <= Self.outputRowBytes, last.piece.goesOn(with: chunk) {
      try prepare(.setOutput).run(request, launch, last.start, last.piece.bytes + bytes, last.piece.takenAt)
    } else {
      let kept = Array(bytes.suffix(OutputChunk.maximumKeptBytes))
      try prepare(.setOutput).run(request, launch, end - kept.count, kept, chunk.takenAt)
    }
    return end
  }

  private static let outputRowBytes = 8 << 10

  package func outputPieces(of launch: LaunchKey) throws -> [OutputPiece] {
    try prepare(.output).all(launch.request.rawValue, launch.number) { row in
      OutputPiece(takenAt: row.optionalTime(1), bytes: row.blob(0))
    }.suffix(bytes: OutputChunk.maximumKeptBytes)
  }
}

extension OutputPiece {
  /// Whether the chunk belongs to this piece: it came in the same second, or continues its last line.
  fileprivate func goesOn(with chunk: OutputChunk) -> Bool {
    guard bytes.last == UInt8(ascii: "\n"), let takenAt, let next = chunk.takenAt else { return true }
    return (next - takenAt) < .seconds(1)
  }
}

extension Query {
  static let lastOutput = Query(
    "SELECT start, bytes, taken_at FROM output WHERE request = ? AND launch = ? ORDER BY start DESC LIMIT 1")
  static let setOutput = Query(
    """
    INSERT INTO output (request, launch, start, bytes, taken_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (request, launch, start) DO UPDATE SET bytes = excluded.bytes
    """)
  static let trimOutput = Query(
    "DELETE FROM output WHERE request = ? AND launch = ? AND start + length(bytes) <= ?")
  static let output = Query("SELECT bytes, taken_at FROM output WHERE request = ? AND launch = ? ORDER BY start")
}
