/// The number of a request in its store. The number is unique in the store and is never used again.
package struct RequestID: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let rawValue: Int64
  package init(_ rawValue: Int64) { self.rawValue = rawValue }
  package var description: String { String(rawValue) }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The number of a stored definition. Equal definitions have the same number.
package struct DefinitionID: Hashable, Sendable, Comparable {
  package let rawValue: Int64
  package init(_ rawValue: Int64) { self.rawValue = rawValue }
  package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The name of one launch of a request. `number` is the fencing token: every write of a worker names it, and a
/// superseded launch commits nothing.
package struct LaunchKey: Hashable, Sendable, Comparable, CustomStringConvertible {
  package var request: RequestID
  /// The number of the launch within its request, from 1.
  package var number: Int

  package init(request: RequestID, number: Int) {
    self.request = request
    self.number = number
  }

  package var description: String { "\(request)/\(number)" }
  package static func < (left: Self, right: Self) -> Bool {
    (left.request, left.number) < (right.request, right.number)
  }
}

/// The requests of one definition and one priority. The same hosts can take them, and they start in the same order, so
/// the dispatcher decides for classes and not for single requests.
package struct RequirementClass: Hashable, Sendable, Comparable {
  package var definition: DefinitionID
  package var priority: Priority

  package init(definition: DefinitionID, priority: Priority) {
    self.definition = definition
    self.priority = priority
  }

  /// Higher priorities are first, then older definitions. This order is fixed, so that decisions do not depend on
  /// hashing.
  package static func < (left: Self, right: Self) -> Bool {
    left.priority != right.priority ? left.priority > right.priority : left.definition < right.definition
  }
}

/// The state of a request. The raw value is its stable name in JSON.
package enum RequestState: String, Sendable, CaseIterable {
  /// Waits for a time, or for the end of the identifier's live request.
  case scheduled
  /// Waits for a host.
  case ready
  case running
  case succeeded
  case failed
  case cancelled

  package var isEnded: Bool {
    switch self {
    case .scheduled, .ready, .running: false
    case .succeeded, .failed, .cancelled: true
    }
  }

  /// Whether the request waits, for a time, for another request or for a host.
  package var isPending: Bool { self == .scheduled || self == .ready }
}

/// The progress of a request at its last durable checkpoint.
package struct Progress: Hashable, Sendable {
  /// The batches that all launches of the request have committed together. It is the index of the next batch.
  package var batches: Int
  /// The handler's position, encoded by the handler; `nil` until a checkpoint has a cursor.
  package var cursor: [UInt8]?
  package var completedUnits: Int64
  /// The total of the units; `nil` until the handler knows it.
  package var totalUnits: Int64?

  package init(batches: Int = 0, cursor: [UInt8]? = nil, completedUnits: Int64 = 0, totalUnits: Int64? = nil) {
    self.batches = batches
    self.cursor = cursor
    self.completedUnits = completedUnits
    self.totalUnits = totalUnits
  }
}

/// The W3C trace context of a request. Every span of every launch of the request has this trace id.
package struct TraceContext: Hashable, Sendable {
  /// 16 bytes.
  package var traceID: [UInt8]
  /// 8 bytes.
  package var spanID: [UInt8]
  package var isSampled: Bool

  package init(traceID: [UInt8], spanID: [UInt8], isSampled: Bool) {
    precondition(traceID.count == 16 && spanID.count == 8, "a trace id has 16 bytes and a span id 8")
    self.traceID = traceID
    self.spanID = spanID
    self.isSampled = isSampled
  }

  /// The value of the `traceparent` header: `00-<trace id>-<span id>-<flags>`, see
  /// https://www.w3.org/TR/trace-context/.
  package var traceparent: String {
    "00-\(traceID.hexadecimal)-\(spanID.hexadecimal)-\(isSampled ? "01" : "00")"
  }

  /// Parses a `traceparent` of version 00 or later. The result is `nil` if the text is not well formed, or if an id is
  /// zero.
  package init?(traceparent: String) {
    let digits = Array(traceparent.utf8)
    // Version, trace id, span id and flags, with dashes between them. A later version may continue after another dash.
    guard digits.count >= 55, [2, 35, 52].allSatisfy({ digits[$0] == UInt8(ascii: "-") }),
      let version = [UInt8](hexadecimal: digits[0..<2]), version != [0xff],
      digits.count == 55 || version != [0] && digits[55] == UInt8(ascii: "-"),
      let trace = [UInt8](hexadecimal: digits[3..<35]), trace.contains(where: { $0 != 0 }),
      let span = [UInt8](hexadecimal: digits[36..<52]), span.contains(where: { $0 != 0 }),
      let flags = [UInt8](hexadecimal: digits[53..<55])
    else { return nil }
    self.init(traceID: trace, spanID: span, isSampled: flags[0] & 1 == 1)
  }
}

extension [UInt8] {
  /// The bytes in hexadecimal, with two digits in lower case for each byte.
  package var hexadecimal: String {
    String(unsafeUninitializedCapacity: count * 2) { digits in
      for (index, byte) in enumerated() {
        digits[index * 2] = Self.digit(byte >> 4)
        digits[index * 2 + 1] = Self.digit(byte & 15)
      }
      return count * 2
    }
  }

  /// Decodes hexadecimal digits. The result is `nil` unless `text` is an even number of digits in lower case.
  package init?(hexadecimal text: some StringProtocol) { self.init(hexadecimal: Array(text.utf8)[...]) }

  package init?(hexadecimal digits: ArraySlice<UInt8>) {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for index in stride(from: digits.startIndex, to: digits.endIndex, by: 2) {
      guard let high = Self.nibble(digits[index]), let low = Self.nibble(digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    self = bytes
  }

  private static func digit(_ nibble: UInt8) -> UInt8 {
    nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") - 10 + nibble
  }

  private static func nibble(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
