import BatonBase
import BatonWire

extension Clocks {
  /// The clocks of the machine.
  package static let system = Clocks(
    now: { SystemClocks.now() }, sleep: { try await Task.sleep(for: $0, clock: .continuous) },
    boot: { SystemClocks.boot })
}
