import BatonHost
import BatonModel
import ContractRows
import Testing

@Suite("A flapping supply thrashes nothing")
struct HysteresisTests {
  static func second(_ number: Int) -> Instant { Instant(nanoseconds: Int64(number) * 1_000_000_000) }

  /// Feeds a hysteresis one reading per second, and returns the values that count. `E` is external power, `B` is
  /// battery, and `?` is unknown.
  static func power(_ read: String) -> String {
    var hysteresis = Hysteresis<PowerSource>(returnAfter: .seconds(3)) { $0 == .battery ? 0 : 1 }
    return String(
      read.enumerated().map { index, letter in
        let value: PowerSource? = letter == "E" ? .external : letter == "B" ? .battery : nil
        return hysteresis.read(Reading(value, source: "test", raw: "\(letter)"), at: second(index)).value.letter
      })
  }

  @Test(
    "a loss counts at once, a return after it has lasted",
    arguments: [
      ("EEBBEEEEE", "EEBBBBBEE"), ("BEEEE", "BBBBE"), ("EBEBEBEEEE", "EBBBBBBBBE"), ("BEEBEEEE", "BBBBBBBE"),
      ("E?BB???", "E?BBBBB"), ("B????", "BBBB?"), ("EEEE", "EEEE"),
    ])
  func returns(read: String, counts: String) {
    #expect(Self.power(read) == counts)
  }

  @Test("what is held back says what was read and how long it has to last, and how old the value that counts is")
  func words() {
    var hysteresis = Hysteresis<PowerSource>(returnAfter: .seconds(3)) { $0 == .battery ? 0 : 1 }
    _ = hysteresis.read(Reading(.battery, source: "sysfs", raw: "AC online=0"), at: Self.second(0))
    _ = hysteresis.read(Reading(.external, source: "sysfs", raw: "AC online=1"), at: Self.second(5))
    let held = hysteresis.read(Reading(.external, source: "sysfs", raw: "AC online=1"), at: Self.second(6))
    #expect(held.raw == "AC online=1; counts in 2 s if it lasts")
    #expect(held.age == .seconds(6) && held.value == .battery)
    let back = hysteresis.read(Reading(.external, source: "sysfs", raw: "AC online=1"), at: Self.second(8))
    #expect(back.age == .zero && back.raw == "AC online=1")
  }

  @Test("what goes further than what has lasted has to last by itself")
  func steps() {
    var thermal = Hysteresis<ThermalState>(returnAfter: .seconds(30)) { -($0 ?? .nominal).rawValue }
    func read(_ state: ThermalState, _ second: Int) -> ThermalState? {
      thermal.read(Reading(state, source: "test"), at: Self.second(second)).value
    }
    #expect(read(.critical, 0) == .critical)
    for second in 1...30 { #expect(read(.serious, second) == .critical) }
    #expect(read(.nominal, 31) == .serious)
    #expect(read(.nominal, 60) == .serious)
    #expect(read(.nominal, 61) == .nominal)
  }

  @Test("a loss that is bridged counts once it has lasted, and its return at once if it did not", .contract(19.3))
  func bridged() {
    var network = Hysteresis<NetworkState>(returnAfter: .zero, lossAfter: .seconds(10)) {
      $0 == .unavailable ? 0 : $0 == .metered ? 1 : 2
    }
    func read(_ state: NetworkState, _ second: Int) -> NetworkState? {
      network.read(Reading(state, source: "test"), at: Self.second(second)).value
    }
    #expect(read(.unmetered, 0) == .unmetered)
    #expect(read(.unavailable, 1) == .unmetered)
    #expect(read(.unavailable, 10) == .unmetered)
    #expect(read(.unmetered, 10) == .unmetered)
    #expect(read(.unavailable, 12) == .unmetered)
    #expect(read(.unavailable, 21) == .unmetered)
    #expect(read(.unavailable, 22) == .unavailable)
    #expect(read(.metered, 23) == .metered)
  }
}

extension PowerSource? {
  fileprivate var letter: Character { self == .external ? "E" : self == .battery ? "B" : "?" }
}
