#if canImport(Testing)
  // A build with the Swift runtime inside has no Testing, and needs none of this.
  public import Testing

  /// Says which rows of the contract a test proves, so that a script can find the rows that none does.
  ///
  /// It changes nothing about how the test runs. On a suite it holds for every test in it.
  public struct ContractTrait: TestTrait, SuiteTrait {
    /// The numbers of the rows, as `contract.md` has them.
    public let rows: [Int]

    public var isRecursive: Bool { true }
    public var comments: [Comment] { ["contract: \(rows.map(String.init).joined(separator: ", "))"] }

    init(rows: [Int]) {
      precondition(
        !rows.isEmpty && rows.allSatisfy((1...45).contains), "the contract has rows 1 to 45, not \(rows)")
      self.rows = rows
    }
  }

  extension Trait where Self == ContractTrait {
    /// The rows of the contract that this test proves, 1 to 45; any other number ends the test process.
    public static func contract(_ rows: Int...) -> Self { ContractTrait(rows: rows) }
  }
#endif
