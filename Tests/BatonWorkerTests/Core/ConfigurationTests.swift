import BatonModel
import Testing

@testable import BatonWorker

@Suite struct ConfigurationTests {
  @Test func `a worker that runs commands as root is warned, and no other`() throws {
    var configuration = WorkerConfiguration(name: "anna", dataFolder: "/tmp", slots: 1)
    let warning = try #require(configuration.warnings(user: 0).first)
    #expect(warning.contains("runs as root") && warning.contains("Deploy/README.md"))
    #expect(configuration.warnings(user: 1000) == [])
    configuration.runsCommands = false
    #expect(configuration.warnings(user: 0) == [], "its handlers are the operator's own program")
  }
}
