import BatonWorker
import Testing

@Suite("What a worker is told of its own configuration")
struct WorkerConfigurationTests {
  @Test("a worker that runs commands as root is warned, and no other is")
  func root() {
    var configuration = WorkerConfiguration(name: "desk", dataFolder: "/var/lib/baton", slots: 1)
    configuration.runsCommands = true
    #expect(configuration.warnings(user: 0).first?.contains("takes no job with a command") == true)
    configuration.sandbox.allowsRoot = true
    #expect(configuration.warnings(user: 0).count == 1)
    #expect(configuration.warnings(user: 0).first?.contains("so does every command of every job") == true)
    #expect(configuration.warnings(user: 1000).isEmpty)
    configuration.runsCommands = false
    #expect(configuration.warnings(user: 0).isEmpty)
  }
}
