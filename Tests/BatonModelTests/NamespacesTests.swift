import BatonModel
import Testing

/// Which definitions belong to a namespace, and how use decays.
@Suite struct NamespacesTests {
  private static let start = Timestamp(nanoseconds: 1_700_000_000_000_000_000)
  private let hour = Duration.seconds(3600)

  @Test(arguments: [
    ("com.example.team", "com.example.team"), ("com.example.team.*", "com.example.team"),
    ("com.example.team.report", "com.example.team"), ("com.example.team.deep.report", "com.example.team.deep"),
    ("com.example.team.deep.*", "com.example.team.deep"), ("com.example.*", ""), ("com.example.teams.report", ""),
    ("com.example.tea", ""), ("org", ""),
  ])
  func `the longest prefix above the whole pattern wins`(pattern: String, prefix: String) throws {
    let namespaces = Namespaces([Namespace("com.example.team.deep"), Namespace("com.example.team", weight: 3)])
    #expect(namespaces.prefix(of: try #require(IdentifierPattern(pattern))) == prefix)
    #expect(namespaces["com.example.team"].weight == 3 && namespaces["com"].weight == 1)
    #expect(Namespaces().prefix(of: try #require(IdentifierPattern(pattern))) == "")
  }

  @Test func `two lists with the same namespaces have the same digest in any order, and other lists have others`() {
    let (a, b) = (Namespace("a"), Namespace("b", weight: 2))
    #expect(Namespaces().digest == nil)
    #expect(Namespaces([a, b]).digest == Namespaces([b, a]).digest)
    var limited = a
    limited.quotas.slots = 4
    let others = [
      Namespaces([a]), Namespaces([a, Namespace("b", weight: 3)]), Namespaces([limited, b]),
      Namespaces([Namespace("a", owner: PrincipalPattern("ada")), b]), Namespaces([a, b], useHalfLife: .seconds(60)),
    ]
    #expect(Set((others + [Namespaces([a, b])]).map(\.digest)).count == others.count + 1)
  }

  @Test func `after each half-life a use counts half`() {
    var use = DecayedUse()
    use.add(2, from: Self.start, to: Self.start + .seconds(10), halfLife: hour)
    let first = use.slotSeconds(at: Self.start + .seconds(10), halfLife: hour)
    #expect(abs(first - 20) < 0.05)
    #expect(abs(use.slotSeconds(at: Self.start + .seconds(3610), halfLife: hour) - first / 2) < 1e-9)
    #expect(abs(use.slotSeconds(at: Self.start + .seconds(7210), halfLife: hour) - first / 4) < 1e-9)
    #expect(use.slotSeconds(at: Self.start, halfLife: hour) == first, "a clock that is behind changes nothing")
    #expect(use.slotSeconds(at: .distantFuture, halfLife: hour) == 0)
  }

  @Test func `slots that are held count as those of a launch that has ended`() {
    var (held, ended) = (DecayedUse(), DecayedUse())
    held.hold(3, at: Self.start, halfLife: hour)
    held.hold(-3, at: Self.start + .seconds(500), halfLife: hour)
    ended.add(3, from: Self.start, to: Self.start + .seconds(500), halfLife: hour)
    let end = Self.start + .seconds(900)
    #expect(abs(held.slotSeconds(at: end, halfLife: hour) - ended.slotSeconds(at: end, halfLife: hour)) < 1e-6)
    #expect(held.slots == 0)
    var late = DecayedUse(slotSeconds: 0, at: end)
    late.add(3, from: Self.start, to: Self.start + .seconds(500), halfLife: hour)
    #expect(abs(late.slotSeconds(at: end, halfLife: hour) - ended.slotSeconds(at: end, halfLife: hour)) < 1e-6)
  }

  @Test func `the use of two coordinators adds up`() {
    let one = DecayedUse(slotSeconds: 100, at: Self.start)
    var other = DecayedUse(slotSeconds: 10, at: Self.start + hour)
    other.join(one, halfLife: hour)
    #expect(abs(other.slotSeconds(at: Self.start + hour, halfLife: hour) - 60) < 1e-9)
  }
}
