#if canImport(Testing)
  // A build with the Swift runtime linked in (`--static-swift-stdlib`) has no module Testing, and does not need this
  // file.
  public import Testing

  /// Says which promises of the contract a test proves: `.contract(28.1)` is the first promise of row 28, as
  /// `Tests/ContractRows/promises.tsv` numbers them. `Scripts/check-contract` finds the promises that no test proves.
  ///
  /// The trait does not change how the test runs. A trait of a suite applies to every test of the suite. Each test that
  /// has run is written to a log, so a test that is commented out, left out of the build, or disabled proves nothing.
  public struct ContractTrait: TestTrait, SuiteTrait, TestScoping {
    /// The numbers of the promises, such as 28.1.
    public let promises: [Double]

    public var isRecursive: Bool { true }
    public var comments: [Comment] { ["contract: \(promises.map { "\($0)" }.joined(separator: ", "))"] }

    init(promises: [Double]) {
      precondition(
        !promises.isEmpty && promises.allSatisfy { (1..<46).contains($0) },
        "the contract has rows 1 to 45, not \(promises)")
      self.promises = promises
    }

    /// Provides the scope for each run of a test. A test with arguments has one run for each of them.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> ContractTrait? { testCase == nil ? nil : self }

    /// Runs the test, and then logs its promises. A test that throws is not logged. A failed expectation fails the
    /// whole test run, and the log is then not used.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      try await function()
      ContractLog.note(promises, of: "\(test.sourceLocation.fileID):\(test.sourceLocation.line)")
    }
  }

  extension Trait where Self == ContractTrait {
    /// The promises of the contract that this test proves, such as `.contract(28.1, 28.2)`. A number of a row that does
    /// not exist ends the test process.
    public static func contract(_ promises: Double...) -> Self { ContractTrait(promises: promises) }
  }
#endif
