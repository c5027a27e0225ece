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

  /// The state after the name of a request in a sentence, such as `has succeeded`.
  package var predicate: String {
    switch self {
    case .scheduled, .ready, .running: "is \(rawValue)"
    case .succeeded, .failed: "has \(rawValue)"
    case .cancelled: "was cancelled"
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
