#if canImport(Testing)
  // A build with the Swift runtime inside has no Testing, and needs none of this.
  public import Testing

  /// Says which promises of the contract a test proves: `.contract(28.1)` is the first promise of row 28, as
  /// `Tests/ContractRows/promises.tsv` numbers them. `Scripts/check-contract` finds the promises that no test proves.
  ///
  /// It changes nothing about how the test runs. On a suite it holds for every test in it. Each test that has run is
  /// written to a log, so that a test that is commented out, left out of the build, or disabled proves nothing.
  public struct ContractTrait: TestTrait, SuiteTrait, TestScoping {
    /// The numbers of the promises.
    public let promises: [Double]

    public var isRecursive: Bool { true }
    public var comments: [Comment] { ["contract: \(promises.map { "\($0)" }.joined(separator: ", "))"] }

    init(promises: [Double]) {
      precondition(
        !promises.isEmpty && promises.allSatisfy { (1..<46).contains($0) },
        "the contract has rows 1 to 45, not \(promises)")
      self.promises = promises
    }

    /// Around each run of a test; a test with arguments has several.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> ContractTrait? { testCase == nil ? nil : self }

    /// A test that throws is not written down. A failed expectation fails the whole run, and then the log counts for
    /// nothing.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      try await function()
      ContractLog.note(promises, of: "\(test.sourceLocation.fileID):\(test.sourceLocation.line)")
    }
  }

  extension Trait where Self == ContractTrait {
    /// The promises of the contract that this test proves; a row that does not exist ends the test process.
    public static func contract(_ promises: Double...) -> Self { ContractTrait(promises: promises) }
  }
#endif
