import BatonWire
import Testing

@Suite struct TokenProofTests {
  private static let token = String(repeating: "0123456789abcdef", count: 4)
  private static let client = Array(UInt8(0)..<32)
  private static let coordinator = Array(UInt8(32)..<64)
  private static let proof = TokenProof(client: client, coordinator: coordinator)!

  /// The expected code was made with Python: hmac.new(token, b"baton.v1 coordinator\0" + bytes(range(64)), "sha256").
  @Test func `another implementation computes the same codes`() {
    #expect(
      TokenProof.hexadecimal(Self.proof.coordinatorCode(Self.token))
        == "2d4645c202d56c00591d1911114983a1102e7d33482abb2bf8c266813696b56a")
    #expect(
      Self.proof.authorization(Self.token)
        == "Baton-HMAC 916255eb3983e2f04d528739daa9d94e5eb8eba0528e30ff04498abb2178348e")
  }

  /// The expected token was made with Python: hmac.new(token, b"baton.v1 metrics", "sha256").
  @Test func `the metrics token is that of any other program, and of this token only`() {
    #expect(
      MetricsToken.derived(from: Self.token) == "fd1ce45344389a617643d811db7396bb95c6b60fa9a7523f3dc2d75c4eb82724")
    #expect(MetricsToken.derived(from: Self.token + "0") != MetricsToken.derived(from: Self.token))
  }

  @Test func `a code is of this token, these nonces and this end only`() throws {
    let code = Self.proof.coordinatorCode(Self.token)
    #expect(Self.proof.isCoordinatorCode(code, Self.token))
    #expect(!Self.proof.isCoordinatorCode(code, Self.token + "0"))
    #expect(!Self.proof.isCoordinatorCode(Array(code.dropLast()), Self.token))
    #expect(!Self.proof.isCoordinatorCode([], Self.token))
    // Another program at the port may send a client's own code back.
    #expect(!Self.proof.isCoordinatorCode(Self.proof.clientCode(Self.token), Self.token))
    // Another program may repeat a code that it got on another connection.
    let other = try #require(TokenProof(client: TokenProof.nonce(), coordinator: Self.coordinator))
    #expect(!other.isCoordinatorCode(code, Self.token))
    let swapped = try #require(TokenProof(client: Self.coordinator, coordinator: Self.client))
    #expect(!swapped.isCoordinatorCode(code, Self.token))
  }

  @Test(arguments: [0, 1, 31, 33, 64])
  func `a nonce has 32 bytes`(count: Int) {
    let short = Array(repeating: UInt8(1), count: count)
    #expect(TokenProof(client: short, coordinator: Self.coordinator) == nil)
    #expect(TokenProof(client: Self.client, coordinator: short) == nil)
  }

  @Test func `nonces are random`() {
    let nonces = Set((0..<100).map { _ in TokenProof.nonce() })
    #expect(nonces.count == 100 && nonces.allSatisfy { $0.count == 32 })
  }

  @Test func `a secret is compared as a whole`() {
    #expect(Secret.isEqual("abc", "abc"))
    for other in ["", "ab", "abcd", "abd", "Abc"] { #expect(!Secret.isEqual("abc", other)) }
  }
}
