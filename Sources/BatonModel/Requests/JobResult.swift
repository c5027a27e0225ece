/// The small result of a request, or of one of its shards: JSON of at most 64 KiB (RFC 8259), as the job wrote it.
///
/// It is saved with a checkpoint, and becomes the result of the request when the request succeeds. The requests of its
/// flow that wait for it get it (`RequestInput`).
package struct JobResult: Hashable, Sendable {
  package let json: [UInt8]

  /// The most bytes of one result.
  package static let maximumBytes = 64 << 10
  /// The most bytes of all results that one launch gets.
  package static let maximumInputBytes = 1 << 20

  /// - Throws: why these bytes are no result.
  package init(_ json: [UInt8]) throws(JobResultProblem) {
    guard json.count <= Self.maximumBytes else { throw .tooLarge(json.count) }
    guard JSONText.isValid(json) else { throw .notJSON }
    self.json = json
  }

  /// - Parameter trusted: bytes that were checked before they were stored or sent.
  package init(trusted json: [UInt8]) { self.json = json }

  package var text: String { String(decoding: json, as: UTF8.self) }
}

/// Why bytes are no result of a job.
package enum JobResultProblem: Error, Hashable, Sendable, CustomStringConvertible {
  case tooLarge(Int)
  case notJSON

  package var description: String {
    switch self {
    case .tooLarge(let bytes):
      "a result of \(bytes) bytes, over the limit of \(JobResult.maximumBytes); write it to a file, and give the path"
    case .notJSON: "a result that is not JSON"
    }
  }
}

/// How a request that another one waited for has ended, and what it gave: an entry of `BATON_INPUTS_FILE`.
package struct RequestInput: Hashable, Sendable {
  package var identifier: JobIdentifier
  /// The number of the request within its identifier.
  package var number: Int
  /// `succeeded`, `failed` or `cancelled`.
  package var state: RequestState
  /// The result of a request that has succeeded and was not divided; `nil` if it gave none.
  package var result: JobResult?
  /// The results of the shards of a divided request that has succeeded, in the order of their numbers.
  package var shards: [ShardResult]
  /// Whether results are left out, because all results of the launch's inputs would have more than 1 MiB.
  package var isCut: Bool

  package struct ShardResult: Hashable, Sendable {
    package var shard: Int
    package var result: JobResult

    package init(shard: Int, result: JobResult) { (self.shard, self.result) = (shard, result) }
  }

  package init(
    _ identifier: JobIdentifier, number: Int, state: RequestState, result: JobResult? = nil,
    shards: [ShardResult] = [], isCut: Bool = false
  ) {
    (self.identifier, self.number, self.state) = (identifier, number, state)
    (self.result, self.shards, self.isCut) = (result, shards, isCut)
  }

  package var resultBytes: Int { shards.reduce(result?.json.count ?? 0) { $0 + $1.result.json.count } }
}

/// Checks JSON without decoding it (RFC 8259).
package enum JSONText {
  /// How deep arrays and objects may be within each other. It is less than every reader of JSON permits.
  package static let deepest = 128

  /// Whether the bytes are one JSON value in UTF-8, with white space around it at most.
  package static func isValid(_ bytes: [UInt8]) -> Bool {
    guard String(validating: bytes, as: UTF8.self) != nil else { return false }
    var scanner = Scanner(bytes: bytes)
    scanner.skipSpace()
    guard scanner.value(depth: 0) else { return false }
    scanner.skipSpace()
    return scanner.index == bytes.count
  }

  private struct Scanner {
    let bytes: [UInt8]
    var index = 0

    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    mutating func skipSpace() {
      while let byte = current, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
      guard current == byte.asciiValue else { return false }
      index += 1
      return true
    }

    mutating func value(depth: Int) -> Bool {
      switch current {
      case UInt8(ascii: "{"): members(depth: depth, end: "}", isObject: true)
      case UInt8(ascii: "["): members(depth: depth, end: "]", isObject: false)
      case UInt8(ascii: "\""): string()
      case UInt8(ascii: "t"): word("true")
      case UInt8(ascii: "f"): word("false")
      case UInt8(ascii: "n"): word("null")
      default: number()
      }
    }

    private mutating func members(depth: Int, end: Character, isObject: Bool) -> Bool {
      guard depth < JSONText.deepest else { return false }
      index += 1
      skipSpace()
      if take(end) { return true }
      while true {
        skipSpace()
        if isObject {
          guard string() else { return false }
          skipSpace()
          guard take(":") else { return false }
          skipSpace()
        }
        guard value(depth: depth + 1) else { return false }
        skipSpace()
        if take(end) { return true }
        guard take(",") else { return false }
      }
    }

    private mutating func word(_ word: StaticString) -> Bool {
      let wanted = Array("\(word)".utf8)
      guard bytes[index...].starts(with: wanted) else { return false }
      index += wanted.count
      return true
    }

    private mutating func string() -> Bool {
      guard take("\"") else { return false }
      while let byte = current {
        index += 1
        switch byte {
        case UInt8(ascii: "\""): return true
        case UInt8(ascii: "\\"): guard escape() else { return false }
        case 0..<0x20: return false
        default: break
        }
      }
      return false
    }

    /// Half of a surrogate pair is permitted, because the grammar permits it.
    private mutating func escape() -> Bool {
      guard let byte = current else { return false }
      index += 1
      if byte == UInt8(ascii: "u") {
        let digits = bytes[index...].prefix(4)
        index += digits.count
        return digits.count == 4 && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
      }
      return Array("\"\\/bfnrt".utf8).contains(byte)
    }

    private mutating func number() -> Bool {
      _ = take("-")
      if !take("0"), !digits() { return false }
      if take("."), !digits() { return false }
      if take("e") || take("E") {
        if !take("+") { _ = take("-") }
        return digits()
      }
      return true
    }

    private mutating func digits() -> Bool {
      let start = index
      while let byte = current, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { index += 1 }
      return index > start
    }
  }
}
