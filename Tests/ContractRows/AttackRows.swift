#if canImport(Testing)
  public import Testing

  /// Says which attacks a test makes and sees refused: `.refuses(13)` is attack T13, as
  /// `Tests/ContractRows/attacks.tsv` numbers them. `Scripts/check-contract` finds the attacks that no test makes.
  ///
  /// It works as `ContractTrait` does: it does not change how the test runs, and each test that has run is written to a
  /// log, so a test that is commented out, left out of the build, or disabled proves nothing.
  public struct RefusalTrait: TestTrait, SuiteTrait, TestScoping {
    /// The numbers of the attacks, such as 13.
    public let attacks: [Int]

    public var isRecursive: Bool { true }
    public var comments: [Comment] { ["refuses: \(attacks.map { "T\($0)" }.joined(separator: ", "))"] }

    init(attacks: [Int]) {
      precondition(
        !attacks.isEmpty && attacks.allSatisfy { (1...45).contains($0) }, "the attacks are T1 to T45, not \(attacks)")
      self.attacks = attacks
    }

    /// Provides the scope for each run of a test. A test with arguments has one run for each of them.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> RefusalTrait? { testCase == nil ? nil : self }

    /// Runs the test, and then logs its attacks. A test that throws is not logged.
    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      try await function()
      ContractLog.note(refusalsOf: attacks, by: "\(test.sourceLocation.fileID):\(test.sourceLocation.line)")
    }
  }

  extension Trait where Self == RefusalTrait {
    /// The attacks that this test makes and sees refused, such as `.refuses(13, 14)`. A number that does not exist ends
    /// the test process.
    public static func refuses(_ attacks: Int...) -> Self { RefusalTrait(attacks: attacks) }
  }
#endif
