internal import BatonModel

/// The numbers that stand for request states in the database. The numbers are part of the schema: never change one.
extension RequestState {
  var code: Int {
    switch self {
    case .scheduled: 0
    case .ready: 1
    case .running: 2
    case .succeeded: 3
    case .failed: 4
    case .cancelled: 5
    }
  }

  init(code: Int) {
    switch code {
    case 0: self = .scheduled
    case 1: self = .ready
    case 2: self = .running
    case 3: self = .succeeded
    case 4: self = .failed
    case 5: self = .cancelled
    default: preconditionFailure("the schema allows no request state \(code)")
    }
  }
}

extension Priority {
  init(code: Int) {
    guard let priority = Priority(rawValue: code) else {
      preconditionFailure("the schema allows no priority \(code)")
    }
    self = priority
  }
}

/// Why a request is scheduled rather than ready. The raw values are part of the schema: never change one.
enum Cause: Int {
  case notBefore = 0
  /// Without a time at which it ends: the schedule that has made the request is paused.
  case rateLimited = 1
  case backingOff = 2
  case waitsForLiveRequest = 3

  /// The obstacle that `baton explain` shows for this cause.
  /// - Parameter pause: why the schedule that has made the request is paused; `nil` if it is not.
  func obstacle(until: Timestamp, liveNumber: Int, pause: SchedulePause? = nil) -> Obstacle {
    switch self {
    case .notBefore: .notBefore(until)
    case .rateLimited: pause.map { .schedulePaused($0) } ?? .rateLimited(until: until)
    case .backingOff: until == .distantFuture ? .waitsForTransfers : .backingOff(until: until)
    case .waitsForLiveRequest: .waitsForLiveRequest(number: liveNumber)
    }
  }
}

extension LaunchOutcome {
  /// What is stored beside the outcome's code: the error text of a failure, cut to its maximum length, or the reason of
  /// an expiry.
  var storedReason: String? {
    switch self {
    case .finished, .lost: nil
    case .failed(let message): message.bounded(toBytes: Self.maximumErrorBytes)
    case .expired(let reason) where reason.kind == .simulated:
      reason.detail.map { "\(reason.code) (\($0))" } ?? reason.code
    case .expired(let reason): reason.code
    }
  }
}

extension String {
  /// The longest beginning of the string that has at most `limit` bytes of UTF-8. The string is cut between characters.
  package func bounded(toBytes limit: Int) -> String {
    guard utf8.count > limit else { return self }
    var kept = ""
    var bytes = 0
    for character in self {
      bytes += character.utf8.count
      guard bytes <= limit else { break }
      kept.append(character)
    }
    return kept
  }
}

/// Converts GPU indices to text and back, for example `0,1`.
enum GPUList {
  static func text(_ gpus: [Int]) -> String {
    gpus.isEmpty ? "" : gpus.map(String.init).joined(separator: ",")
  }
  static func indices(_ text: String) -> [Int] { text.isEmpty ? [] : text.split(separator: ",").compactMap { Int($0) } }
}
