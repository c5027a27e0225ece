import ContractRows
import Testing

@testable import BatonModel

@Suite("What a host allows, and how it fences commands in") struct HostSandboxTests {
  private func job(_ work: Work?, network: NetworkRequirement? = nil) -> Definition {
    var definition = Definition(pattern: IdentifierPattern("com.example.a")!, kind: .continued)
    definition.work = work
    definition.requirements.network = network
    return definition
  }

  private func obstacles(
    _ definition: Definition, _ sandbox: HostSandbox?, _ permissions: CommandPermissions? = nil
  )
    -> [Obstacle]
  {
    let able = Capabilities(
      slots: 1, handlers: [IdentifierPattern("com.example.a")!], sandbox: sandbox, permissions: permissions)
    return Policy.obstacles(for: definition, on: Host(name: HostName("a"), capabilities: able, conditions: .assumed))
  }

  @Test(
    "a command runs with the higher one of what its job and its host demand, or it meets an obstacle",
    arguments: [
      (nil, nil, nil, true), (nil, nil, SandboxLevel.basic, true), (nil, .basic, nil, false),
      (nil, .basic, .basic, true), (.basic, nil, nil, false), (.basic, nil, .basic, true),
    ] as [(SandboxLevel?, SandboxLevel?, SandboxLevel?, Bool)])
  func levels(asked: SandboxLevel?, required: SandboxLevel?, available: SandboxLevel?, runs: Bool) {
    let why = "the kernel has no Landlock"
    let sandbox = HostSandbox(required: required, available: available, problem: available == nil ? why : "")
    let expected = runs ? [] : [Obstacle.sandboxUnavailable(.basic, why: why)]
    #expect(obstacles(job(Work(command: ["a"], sandbox: asked)), sandbox) == expected)
    #expect(obstacles(job(nil), sandbox).isEmpty, "a handler is no command")
  }

  @Test("a worker that does not know of the sandbox takes commands that ask for none, and no others")
  func older() {
    #expect(obstacles(job(Work(command: ["a"])), nil).isEmpty)
    #expect(obstacles(job(Work(command: ["a"], sandbox: .basic)), nil).map(\.kind) == [.sandboxUnavailable])
  }

  @Test("the reason, and what the owner can do, are in the text")
  func text() {
    let obstacle = Obstacle.sandboxUnavailable(.basic, why: "the kernel has no Landlock")
    #expect(
      obstacle.text
        == "its command has to run in the sandbox 'basic', and the host cannot give it: the kernel has no Landlock")
    #expect(obstacle.remedy.contains("sandbox.require: none"))
    #expect(obstacle.isPermanent)
    #expect(Obstacle.notPermittedOnHost(.network).remedy.contains("'allow.network'"))
  }

  @Test("each thing that the owner does not allow is an obstacle of its own")
  func vetoes() {
    let permissions = CommandPermissions(
      commands: [PathPattern("/usr/bin/ffmpeg")!, PathPattern("/opt/jobs/**")!],
      directories: [PathPattern("/srv/**")!], network: false)
    func vetoes(_ work: Work?, network: NetworkRequirement? = nil) -> [Obstacle] {
      obstacles(job(work, network: network), nil, permissions)
    }
    #expect(vetoes(Work(command: ["/usr/bin/ffmpeg"], directory: "/srv/photos")).isEmpty)
    #expect(vetoes(Work(command: ["/bin/sh"])) == [.notPermittedOnHost(.command("/bin/sh"))])
    #expect(vetoes(Work(command: ["/opt/jobs/a"], directory: "/etc")) == [.notPermittedOnHost(.directory("/etc"))])
    #expect(vetoes(Work(command: ["/opt/jobs/a"]), network: .any) == [.notPermittedOnHost(.network)])
    #expect(vetoes(Work(command: ["ffmpeg"])).isEmpty, "only the host knows where it is")
    #expect(vetoes(nil, network: .any).isEmpty, "a handler is no command")
    let root = CommandPermissions(runsCommands: false)
    #expect(obstacles(job(Work(command: ["a"])), nil, root) == [.notPermittedOnHost(.root)])
  }

  @Test(
    "'strict' is more than 'basic': a host that gives less meets an obstacle, and runs nothing with less", .refuses(33))
  func strict() {
    let why = "namespaces cannot be applied"
    let sandbox = HostSandbox(required: .basic, available: .basic, problem: why)
    let asked = obstacles(job(Work(command: ["a"], sandbox: .strict)), sandbox)
    #expect(asked == [.sandboxUnavailable(.strict, why: why)])
    var required = sandbox
    required.required = .strict
    #expect(obstacles(job(Work(command: ["a"], sandbox: .basic)), required) == asked)
    required.available = .strict
    #expect(obstacles(job(Work(command: ["a"], sandbox: .basic)), required).isEmpty)
  }

  @Test("a user of its own needs a worker that is root, an owner who lists the user, and the sandbox")
  func users() {
    let sandbox = HostSandbox(required: nil, available: .basic)
    let work = Work(command: ["a"], user: "batonjob")
    func found(_ users: [String]?, root: Bool = true) -> [Obstacle] {
      obstacles(job(work), sandbox, CommandPermissions(runsCommands: !root, users: users))
    }
    #expect(found(["other", "batonjob"]).isEmpty)
    #expect(found(["other"]) == [.notPermittedOnHost(.user("batonjob"))])
    #expect(found([]) == [.notPermittedOnHost(.user("batonjob"))])
    #expect(found(nil, root: false) == [.notPermittedOnHost(.userWithoutRoot("batonjob"))])
    #expect(found(nil, root: false)[0].text.contains("because its worker is not root"))
    #expect(obstacles(job(work), sandbox) == [.notPermittedOnHost(.userWithoutRoot("batonjob"))], "an older worker")
    #expect(
      obstacles(job(Work(command: ["a"])), sandbox, CommandPermissions(runsCommands: false, users: ["batonjob"]))
        == [.notPermittedOnHost(.root)], "without a user the command would be root's")
    let none = HostSandbox(required: nil, available: nil, problem: "x")
    #expect(
      obstacles(job(work), none, CommandPermissions(users: ["batonjob"])) == [.sandboxUnavailable(.basic, why: "x")])
  }

  @Test("principals whom the owner permits: handlers too, and only if it is known who submitted")
  func principals() {
    func found(_ principal: String?, _ patterns: [String]?, _ work: Work? = Work(command: ["a"])) -> [Veto] {
      let able = Capabilities(
        slots: 1, permissions: CommandPermissions(principals: patterns?.compactMap { PrincipalPattern($0) }))
      return able.vetoes(of: job(work), by: principal)
    }
    #expect(found("alice", nil).isEmpty)
    #expect(found("alice", ["bob", "al*"]).isEmpty)
    #expect(found("alice", ["bob", "alic"]) == [.principal("alice")])
    #expect(found("alice", [], nil) == [.principal("alice")])
    #expect(found("", ["bob"]) == [.principal("")])
    #expect(found(nil, ["bob"]).isEmpty)
    #expect(PrincipalPattern("") == nil && PrincipalPattern("a\nb") == nil)
    #expect(PrincipalPattern("a?")?.matches("ab") == false)
  }

  @Test(
    "a pattern of paths",
    arguments: [
      ("/a/b", "/a/b", true), ("/a/b", "/a/bc", false), ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false),
      ("/a/**", "/a/b/c", true), ("/a/**", "/a", true), ("/a/**", "/ab", false), ("/a/**/z", "/a/z", true),
      ("/a/**/z", "/a/b/c/z", true), ("/a/**/z", "/a/b/c/y", false), ("/a/*.sh", "/a/x.sh", true),
      ("/a/*.sh", "/a/x.shy", false), ("/a/?", "/a/é", true), ("/**/b/**/d", "/a/b/c/b/d", true), ("/**", "/", true),
      ("/a*b*c", "/aXbYbZc", true), ("/a*b*c", "/aXbYbZ", false),
    ])
  func patterns(pattern: String, path: String, matches: Bool) {
    #expect(PathPattern(pattern)?.matches(path) == matches)
  }

  @Test("a pattern is absolute and has no way up", arguments: ["a/b", "", "/a/../b", "/./a"])
  func wrong(pattern: String) { #expect(PathPattern(pattern) == nil) }
}
