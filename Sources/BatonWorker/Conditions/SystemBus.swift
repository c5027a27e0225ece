package import BatonModel
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A value of a D-Bus property, of the basic types only.
package enum BusValue: Hashable, Sendable {
  case flag(Bool)
  case number(UInt64)
  case text(String)

  package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
  package var number: UInt64? { if case .number(let number) = self { number } else { nil } }
  package var text: String? { if case .text(let text) = self { text } else { nil } }
}

/// An interface of an object of a service on the bus.
package struct BusObject: Hashable, Sendable {
  package var service: String
  package var path: String
  package var interface: String

  package init(service: String, path: String, interface: String) {
    self.service = service
    self.path = path
    self.interface = interface
  }
}

/// Asks services on the system bus for properties, by `busctl` (systemd). Only answers of one line per property are
/// believed; what starts on demand may be started by the question.
package final class SystemBus: Sendable {
  package enum Answer: Hashable, Sendable {
    /// As many as were asked for, in that order.
    case values([BusValue])
    /// No such service or property, no bus, or no `busctl`.
    case missing
    case failed(String)
  }

  /// A service that is not there is asked for again after this long.
  package static let retry = Duration.seconds(60)

  private let command: SystemCommand
  private let patience: Duration
  private let isThere: @Sendable () -> Bool
  /// Until when a service is not asked for.
  private let absent = Mutex<[BusObject: Instant]>([:])

  /// - Parameters:
  ///   - patience: how long one question may take.
  ///   - isThere: whether there is a bus; where there is none no program is started to ask it.
  package init(
    command: SystemCommand = .system, patience: Duration = .seconds(3),
    isThere: @escaping @Sendable () -> Bool = { true }
  ) {
    self.command = command
    self.patience = patience
    self.isThere = isThere
  }

  /// Whether the system bus has its socket where everybody looks for it
  /// (https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-types-system).
  package static func isThere(in root: SystemRoot) -> Bool {
    root.exists("run/dbus/system_bus_socket") || root.exists("var/run/dbus/system_bus_socket")
  }

  /// All properties at once, or none of them.
  package func properties(_ names: [String], of object: BusObject, at now: Instant) async -> Answer {
    guard isThere() else { return .missing }
    if let end = absent.withLock({ $0[object] }), now < end { return .missing }
    let arguments = [
      "busctl", "--system", "--json=short", "get-property", object.service, object.path, object.interface,
    ]
    let answer = Self.answer(await command.run(arguments + names, patience), count: names.count)
    absent.withLock { absent in
      // Sessions come and go: what was not there an hour ago is not remembered.
      absent = absent.filter { now < $0.value }
      if answer == .missing { absent[object] = now + Self.retry }
    }
    return answer
  }

  static func answer(_ answer: SystemCommand.Answer, count: Int) -> Answer {
    switch answer {
    case .missing: return .missing
    case .failed(let why): return isAbsence(why) ? .missing : .failed(why)
    case .output(let text):
      let lines = text.split(separator: "\n")
      let values = lines.compactMap { try? JSONDecoder().decode(BusValue.self, from: Data($0.utf8)) }
      guard lines.count == count, values.count == count else {
        return .failed("busctl: not understood: \(text.prefix(80))")
      }
      return .values(values)
    }
  }

  /// What `busctl` says where there is nothing to ask: no bus, no owner of the name, no such object or property.
  private static func isAbsence(_ why: String) -> Bool {
    [
      "Failed to connect to bus", "was not provided by any", "Could not activate", "does not have an owner",
      "Unknown object", "no such property", "Unknown interface", "No such interface", "not found",
    ].contains { why.contains($0) }
  }
}

/// As `busctl --json=short` prints it: `{"type":"b","data":false}`.
extension BusValue: Decodable {
  private enum Key: String, CodingKey { case type, data }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    switch try values.decode(String.self, forKey: .type) {
    case "b": self = .flag(try values.decode(Bool.self, forKey: .data))
    case "s", "o", "g": self = .text(try values.decode(String.self, forKey: .data))
    case "y", "q", "u", "t": self = .number(try values.decode(UInt64.self, forKey: .data))
    case let other:
      throw DecodingError.dataCorruptedError(forKey: .type, in: values, debugDescription: "type \(other)")
    }
  }
}
