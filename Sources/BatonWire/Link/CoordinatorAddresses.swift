/// The addresses at which a worker reaches its coordinators, and which of them it tries next. It is a value without a
/// connection: `GRPCConnector` tells it what became of each attempt.
///
/// The addresses form a ring. The worker goes to the next address after an attempt that no coordinator welcomed, and
/// after a connection that the worker itself has given up. After a connection that broke, it first tries the same
/// address again, once, because most breaks are short.
package struct CoordinatorAddresses: Hashable, Sendable {
  /// The addresses, from 1 to `maximumCount`, and no address twice. They are in the order in which they were written
  /// until `shuffle(using:)` is called.
  package private(set) var all: [HostPort]
  private var index = 0
  /// Whether the coordinator at `current` has welcomed the worker on the connection that is open now.
  private var isWelcome = false

  /// The largest number of addresses. It bounds how long one round of attempts can take.
  package static let maximumCount = 16

  /// Parses one address, `HOST:PORT`, or several addresses that are separated by commas. Spaces around a comma are
  /// ignored. Throws a `HostPortError` that names the wrong address and says what to do. It does not throw for an
  /// address that is not a loopback address: see `HostPort.refusal`.
  package init(parsing text: String) throws {
    guard text.contains(",") else {
      all = [try HostPort(parsing: text)]
      return
    }
    let elements = text.split(separator: ",", omittingEmptySubsequences: false).map(Self.trimmed)
    guard elements.count <= Self.maximumCount else {
      throw HostPortError(
        "there are \(elements.count) addresses, and at most \(Self.maximumCount) are allowed: remove the others")
    }
    all = []
    for (index, element) in elements.enumerated() {
      guard !element.isEmpty else {
        throw HostPortError(
          "address \(index + 1) of \(elements.count) is empty: write HOST:PORT there, such as 127.0.0.1:7420, or "
            + "remove a comma")
      }
      let address = try HostPort(parsing: element)
      if let earlier = all.firstIndex(where: { $0.target == address.target }) {
        throw HostPortError(
          "'\(element)' is the same address as '\(elements[earlier])', which is before it: remove one of the two")
      }
      all.append(address)
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  /// Puts the addresses into a random order, and starts with the first of it. Call it once, before the first attempt:
  /// the workers of a fleet, which all have the same settings, then spread over the coordinators.
  package mutating func shuffle(using generator: inout some RandomNumberGenerator) {
    all.shuffle(using: &generator)
    (index, isWelcome) = (0, false)
  }

  /// The address of the present connection or attempt, and else of the next attempt.
  package var current: HostPort { all[index] }

  /// Whether there is an address besides `current`.
  package var hasOthers: Bool { all.count > 1 }

  /// The coordinator at `current` has welcomed the worker.
  package mutating func welcomed() { isWelcome = true }

  /// The connection to `current` has ended, or the attempt to connect has failed. Afterwards `current` is the address
  /// of the next attempt.
  /// - Parameter isGivenUp: whether the worker closed the connection because the coordinator is of no use to it, for
  ///   example because it does not answer.
  package mutating func ended(isGivenUp: Bool) {
    if isGivenUp || !isWelcome { index = (index + 1) % all.count }
    isWelcome = false
  }
}

extension HostPort {
  /// The address to which a client connects: `localhost` is 127.0.0.1.
  fileprivate var target: HostPort { host == "localhost" ? HostPort(host: "127.0.0.1", port: port) : self }
}
