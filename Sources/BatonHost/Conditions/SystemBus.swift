package import BatonModel
package import BatonProcess
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The value of a D-Bus property of a basic type.
package enum BusValue: Hashable, Sendable {
  case flag(Bool)
  case number(UInt64)
  case text(String)

  package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
  package var number: UInt64? { if case .number(let number) = self { number } else { nil } }
  package var text: String? { if case .text(let text) = self { text } else { nil } }
}

/// An interface of an object that a service has on the bus.
package struct BusObject: Hashable, Sendable {
  package var service: String
  package var path: String
  package var interface: String
}

/// Asks services on the system bus for properties, with systemd's `busctl`. Only an answer with one line per property
/// is accepted. The question may start a service that is started on demand.
package final class SystemBus: Sendable {
  package enum Answer: Hashable, Sendable {
    /// The values of all properties, in the order of the question.
    case values([BusValue])
    /// No such service or property, no bus, or no `busctl`.
    case missing
    case failed(String)
  }

  /// The time after which a missing service is asked again.
  package static let retry = Duration.seconds(60)

  private let command: SystemCommand
  private let patience: Duration
  private let isThere: @Sendable () -> Bool
  /// The objects that were missing, each with the time until which it is not asked.
  private let absent = Mutex<[BusObject: Instant]>([:])

  /// - Parameters:
  ///   - patience: how long one question may take.
  ///   - isThere: whether the host has a system bus. Without a bus, no program is started.
  package init(
    command: SystemCommand = .system, patience: Duration = .seconds(3),
    isThere: @escaping @Sendable () -> Bool = { true }
  ) {
    self.command = command
    self.patience = patience
    self.isThere = isThere
  }

  /// Whether the system bus has its socket in the standard place
  /// (https://dbus.freedesktop.org/doc/dbus-specification.html#message-bus-types-system).
  package static func isThere(in root: SystemRoot) -> Bool {
    root.exists("run/dbus/system_bus_socket") || root.exists("var/run/dbus/system_bus_socket")
  }

  /// Asks for all properties in one question. The answer has either all values or none.
  package func properties(_ names: [String], of object: BusObject, at now: Instant) async -> Answer {
    guard isThere() else { return .missing }
    if let end = absent.withLock({ $0[object] }), now < end { return .missing }
    let arguments = [
      "busctl", "--system", "--json=short", "get-property", object.service, object.path, object.interface,
    ]
    let answer = Self.answer(await command.run(arguments + names, patience), count: names.count)
    absent.withLock { absent in
      // Sessions come and go. Entries whose time has passed are removed, so that the table does not grow.
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

  /// Whether an error of `busctl` means that there is nothing to ask: no bus, no owner of the name, no such object or
  /// property.
  private static func isAbsence(_ why: String) -> Bool {
    [
      "Failed to connect to bus", "was not provided by any", "Could not activate", "does not have an owner",
      "Unknown object", "no such property", "Unknown interface", "No such interface", "not found",
    ].contains { why.contains($0) }
  }
}

/// Decodes the output of `busctl --json=short`, such as `{"type":"b","data":false}`.
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
