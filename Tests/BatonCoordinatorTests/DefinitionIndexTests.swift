import BatonCoordinator
import BatonModel
import ContractRows
import Testing

@testable import BatonStore

@Suite struct DefinitionIndexTests {
  let index = DefinitionIndex(
    ["com.a", "com.a.*", "com.a.b.*", "com.a.b.c", "org.photos.export"].enumerated().map { number, pattern in
      StoredDefinition(
        id: DefinitionID(Int64(number)), definition: Desk.job(pattern), appliedAt: Timestamp(nanoseconds: 0))
    })

  @Test(
    .contract(2.3),
    arguments: [
      ("com.a", "com.a"), ("com.a.x", "com.a.*"), ("com.a.x.y", "com.a.*"), ("com.a.b", "com.a.*"),
      ("com.a.b.c", "com.a.b.c"), ("com.a.b.d", "com.a.b.*"), ("com.a.b.c.d", "com.a.b.*"), ("com", nil),
      ("com.ab", nil), ("COM.A", nil), ("org.photos.export.x", nil),
    ])
  func `a literal beats a wildcard, and the longest wildcard the others`(identifier: String, pattern: String?) {
    #expect(index.definition(for: JobIdentifier(identifier)!)?.definition.pattern.rawValue == pattern)
  }

  @Test func `a pattern finds itself only`() {
    #expect(index[IdentifierPattern("com.a.*")!]?.id == DefinitionID(1))
    #expect(index[IdentifierPattern("com.*")!] == nil)
  }

  @Test(.contract(1.3), arguments: [("org.photos.exprt", "org.photos.export"), ("net.entirely.different.thing", nil)])
  func `the nearest pattern is named if it can be meant`(identifier: String, pattern: String?) {
    #expect(index.nearest(to: identifier) == pattern)
  }

  @Test func `an empty index knows nothing`() {
    #expect(DefinitionIndex().definition(for: JobIdentifier("com.a")!) == nil)
    #expect(DefinitionIndex().nearest(to: "com.a") == nil)
  }
}
