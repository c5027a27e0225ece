import BatonModel
import BatonWire
import Testing

@Suite struct CoordinatorAddressesTests {
  private static func addresses(_ count: Int) throws -> CoordinatorAddresses {
    try CoordinatorAddresses(parsing: (1...count).map { "127.0.0.1:\($0)" }.joined(separator: ","))
  }

  /// The ports of the addresses that are tried next, if every attempt fails.
  private static func next(_ count: Int, after addresses: CoordinatorAddresses) -> [Int] {
    var addresses = addresses
    return (0..<count).map { _ in
      defer { addresses.ended(isGivenUp: false) }
      return addresses.current.port
    }
  }

  // MARK: Parsing

  @Test(arguments: [
    ("127.0.0.1:7420", ["127.0.0.1:7420"]),
    ("127.0.0.1:7420,127.0.0.1:7430", ["127.0.0.1:7420", "127.0.0.1:7430"]),
    ("127.0.0.1:7420 , [::1]:7420, localhost:7430 ", ["127.0.0.1:7420", "[::1]:7420", "localhost:7430"]),
  ])
  func `one address or several are read in their order`(text: String, expected: [String]) throws {
    let addresses = try CoordinatorAddresses(parsing: text)
    #expect(addresses.all.map(\.description) == expected)
    #expect(addresses.hasOthers == (expected.count > 1))
  }

  @Test(arguments: [
    ("nowhere", "'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"),
    (" 127.0.0.1:7420", "' 127.0.0.1:7420' has no host: write HOST:PORT, such as 127.0.0.1:7420"),
    ("127.0.0.1:7420,nowhere", "'nowhere' is not HOST:PORT, such as 127.0.0.1:7420"),
    (
      "127.0.0.1:1,,127.0.0.1:2",
      "address 2 of 3 is empty: write HOST:PORT there, such as 127.0.0.1:7420, or remove a comma"
    ),
    (
      "127.0.0.1:1, ", "address 2 of 2 is empty: write HOST:PORT there, such as 127.0.0.1:7420, or remove a comma"
    ),
    (
      "127.0.0.1:1,127.0.0.1:2,127.0.0.1:1",
      "'127.0.0.1:1' is the same address as '127.0.0.1:1', which is before it: remove one of the two"
    ),
    (
      "127.0.0.1:1,localhost:1",
      "'localhost:1' is the same address as '127.0.0.1:1', which is before it: remove one of the two"
    ),
  ])
  func `a wrong address is named, with what to do`(text: String, message: String) {
    let error = #expect(throws: HostPortError.self) { try CoordinatorAddresses(parsing: text) }
    #expect(error?.description == message)
  }

  @Test func `16 addresses are accepted, and 17 are not`() throws {
    #expect(try Self.addresses(16).all.count == 16)
    let error = #expect(throws: HostPortError.self) { try Self.addresses(17) }
    #expect(error?.description == "there are 17 addresses, and at most 16 are allowed: remove the others")
  }

  // MARK: The ring

  @Test func `the generator alone decides the order, and each order occurs`() throws {
    let orders = try (UInt64(0)..<200).map { seed in
      var (addresses, generator) = (try Self.addresses(3), SplitMix64(seed: seed))
      addresses.shuffle(using: &generator)
      var (again, same) = (try Self.addresses(3), SplitMix64(seed: seed))
      again.shuffle(using: &same)
      #expect(addresses == again)
      #expect(addresses.current == addresses.all.first)
      return addresses.all.map(\.port)
    }
    #expect(Set(orders).count == 6)
  }

  @Test func `after each failure the next address is tried, and after the last the first`() throws {
    #expect(Self.next(7, after: try Self.addresses(3)) == [1, 2, 3, 1, 2, 3, 1])
    #expect(Self.next(3, after: try Self.addresses(1)) == [1, 1, 1])
  }

  @Test func `the worker stays with its address while its connection lasts`() throws {
    var addresses = try Self.addresses(3)
    addresses.ended(isGivenUp: false)
    addresses.welcomed()
    addresses.welcomed()
    #expect(addresses.current.port == 2)
  }

  @Test func `after a connection that broke the same address is tried once more, then the others`() throws {
    var addresses = try Self.addresses(3)
    addresses.ended(isGivenUp: false)
    addresses.welcomed()
    addresses.ended(isGivenUp: false)
    #expect(Self.next(5, after: addresses) == [2, 3, 1, 2, 3])
  }

  @Test func `a connection that the worker gave up is followed by the next address`() throws {
    var addresses = try Self.addresses(3)
    addresses.welcomed()
    addresses.ended(isGivenUp: true)
    #expect(Self.next(4, after: addresses) == [2, 3, 1, 2])
    var alone = try Self.addresses(1)
    alone.welcomed()
    alone.ended(isGivenUp: true)
    #expect(alone.current.port == 1)
  }

  @Test func `a welcome at one address says nothing about the next`() throws {
    var addresses = try Self.addresses(3)
    addresses.welcomed()
    addresses.ended(isGivenUp: true)
    addresses.ended(isGivenUp: false)
    #expect(addresses.current.port == 3)
  }
}
