import Testing

@testable import BatonHandler

@Suite struct CheckpointCodingTests {
  @Test(arguments: [0, 7, 1_234_567, Int.max])
  func `the cursor of batches is encoded to the same bytes as with an encoder`(offset: Int) throws {
    let cursor = Offset(offset: offset)
    #expect(CheckpointCoding.encode(cursor) == (try CheckpointCoding.encode(cursor, version: Offset.version)))
  }
}
